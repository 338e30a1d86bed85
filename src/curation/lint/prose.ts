// How descriptions are read.

/** Sentences, without those that say what the action is not for: what they name is another action's. */
export function claimsOf (description: string): string {
  return sentencesOf(description).filter(sentence => !/\b(do not|don't|never) use\b|\bnot for\b/i.test(sentence)).join(' ')
}

export const sentencesOf = (text: string): readonly string[] => text.split(/(?<=[.;!?])\s+/)

/** For a message: the words in quotes, shortened. */
export const shown = (text: string): string => `"${text.length > 60 ? `${text.slice(0, 57)}…` : text}"`
