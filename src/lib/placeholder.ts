/** What `String()` makes of a missing value, and what a shell, a template or a document has in place of one. */
const PLACEHOLDER =
  /^(undefined|null|NaN|\[object \w+\]|\$[A-Za-z_]\w*|%[A-Za-z_]\w*%|<[\w .-]+>|\{\{.*\}\})$|\$\{[^}]*\}/s

/** Whether a text stands for a value that was never filled in: everybody knows it, so it cannot be a secret. */
export function isPlaceholder(text: string): boolean {
  return PLACEHOLDER.test(text)
}
