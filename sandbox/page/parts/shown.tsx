/** Characters that are not seen, or that turn the text around them: they are shown by their number. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const HIDDEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffd]/

const SPLIT = new RegExp(`(${HIDDEN.source})`)

/** Text from outside, as it is; nothing in it can hide, or change the order of what is beside it. */
export function Shown({ text }: { readonly text: string }) {
  if (!HIDDEN.test(text)) return <bdi>{text}</bdi>
  return (
    <bdi>
      {text
        .split(SPLIT)
        .map((part, index) => (index % 2 === 0 ? part : <span class="hidden-char">{codePoint(part)}</span>))}
    </bdi>
  )
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
