/** Parses a line as a shell does: quotes and redirections. The output is dropped here. */
export function shellWords(line: string): { words: string[]; stdin: string | undefined } {
  const words: string[] = []
  let stdin: string | undefined
  let redirection: string | undefined
  for (const [text] of line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)) {
    const word = text.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2')
    if (redirection === '<') stdin = word
    if (redirection === undefined && !['<', '>', '>>'].includes(text)) words.push(word)
    redirection = redirection === undefined && ['<', '>', '>>'].includes(text) ? text : undefined
  }
  return { words, stdin }
}
