/** Texts of missing values, also of a list of them, and words that stand for a secret in examples. */
const WORD =
  /^(undefined|null|none|nil|nan|true|false|change-?me|x{3,}|\.{3}|…|your[-_ ]secret[-_ \w]*|\[object \w+\])(,\1)*$/i

/** A name in the marks of a shell, a template, a pipeline or a document; in the first it may have a default. */
const NAME =
  /^(\$\{[A-Za-z_]\w*(:?[-?+=].*)?\}|\$[A-Z_][A-Z\d_]*|\$\([A-Za-z_][\w.]*\)|%[A-Z_][A-Z\d_]*%|__[A-Za-z]\w*__|#\{[A-Za-z_]\w*\}#?|\{[A-Za-z_]\w*\}|<[\w .-]+>|\{\{.*\}\}|process\.env\.\w+|TIX_SIGNING_SECRET)$/s

/** A reference to a secret manager that nothing has looked up. */
const REFERENCE = /^(op:\/\/|vault:|arn:aws:(secretsmanager|ssm):|@Microsoft\.KeyVault\()/

/** Whether a text stands for a value that was never filled in: everybody knows it, so it cannot be a secret. */
export function isPlaceholder(text: string): boolean {
  return WORD.test(text) || NAME.test(text) || REFERENCE.test(text)
}
