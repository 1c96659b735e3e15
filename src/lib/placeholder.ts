/** The text of a missing value, and the marks for one in a shell, a template or a document. */
const PLACEHOLDER =
  /^(undefined|null|NaN|\[object \w+\]|\$[A-Za-z_]\w*|%[A-Za-z_]\w*%|<[\w .-]+>|\{\{.*\}\})$|\$\{[^}]*\}/s

/** Whether a text stands for a value that was never filled in: everybody knows it, so it cannot be a secret. */
export function isPlaceholder(text: string): boolean {
  return PLACEHOLDER.test(text)
}
