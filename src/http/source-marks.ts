// The mark of a client's address, for the audit. Addresses are few and come again with every request, so the marks of the latest are kept.
const REMEMBERED_MAX = 1_000

/** @param mark the HMAC of an address; the same for the same address as long as the process runs */
export function rememberMarks (mark: (address: string) => string): (address: string) => string {
  const marks = new Map<string, string>()
  return address => {
    let known = marks.get(address)
    if (known === undefined) {
      known = mark(address)
      if (marks.size >= REMEMBERED_MAX) marks.clear()
      marks.set(address, known)
    }
    return known
  }
}
