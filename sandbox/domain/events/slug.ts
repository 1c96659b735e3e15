const MAX_TITLE_PART = 60
const ID_PART = 6

/**
 * The part of the public URL: the title in small Latin letters and digits, then the first 6 characters of the id, or more where
 * these are taken.
 *
 * @param id without its prefix
 */
export function slugOf(title: string, id: string, isTaken: (slug: string) => boolean): string {
  const words = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, MAX_TITLE_PART)
    .replace(/-$/, '')
  for (let length = ID_PART; ; length += 1) {
    const slug = `${words || 'event'}-${id.slice(0, length).toLowerCase()}`
    if (length >= id.length || !isTaken(slug)) return slug
  }
}
