/** Sets a name of an object that came from others: by plain assignment, `__proto__` would change what the object is. */
export function setOwn<T> (object: { [name: string]: T }, name: string, value: T): void {
  if (name === '__proto__') Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  else object[name] = value
}
