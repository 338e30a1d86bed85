// Texts that have a format, and texts that miss it by a little. A format that nothing is bad for asserts nothing.

export interface Format {
  readonly good: readonly string[]
  readonly bad: readonly string[]
}

const format = (good: readonly string[], bad: readonly string[]): Format => ({ good, bad })

export const FORMATS: ReadonlyMap<string, Format> = new Map(Object.entries({
  date: format(['2030-01-31', '2030-02-28'], ['2030-02-30', '31.01.2030']),
  time: format(['12:00:00Z', '13:30:00Z'], ['25:00:00Z', '12:00']),
  'date-time': format(['2030-01-31T12:00:00Z', '2030-02-28T13:30:00Z'], ['2030-13-01T12:00:00Z', '2030-01-31']),
  'iso-time': format(['12:00:00'], ['25:00:00']),
  'iso-date-time': format(['2030-01-31T12:00:00'], ['2030-13-01T12:00:00']),
  duration: format(['P1D', 'PT2H'], ['1 day']),
  uuid: format(['3f0c9a52-6d1e-4b7a-9c25-0f6f1f4b8d10', '9a6c2b1e-35d4-4f0a-8b77-1c2d3e4f5a6b'], ['3f0c9a52-6d1e-4b7a-9c25', 'not-a-uuid']),
  email: format(['a@example.org', 'b@example.org'], ['a.example.org', 'a@']),
  hostname: format(['a.example', 'b.example'], ['-a-.example']),
  ipv4: format(['192.0.2.1', '192.0.2.2'], ['192.0.2.256']),
  ipv6: format(['2001:db8::1', '2001:db8::2'], ['2001:db8:::1']),
  uri: format(['https://a.example/', 'https://b.example/'], ['a b']),
  url: format(['https://a.example/', 'https://b.example/'], ['a b']),
  'uri-reference': format(['/a', '/b'], ['\\a b']),
  'uri-template': format(['/a/{b}', '/b/{c}'], ['/a/{b']),
  regex: format(['^a$', '^b$'], ['(']),
  'json-pointer': format(['/a', '/b'], ['a']),
  'json-pointer-uri-fragment': format(['#/a', '#/b'], ['a']),
  'relative-json-pointer': format(['0/a', '0/b'], ['/a']),
  byte: format(['YWE=', 'YmI='], ['a']),
  password: format(['aaaaaaaa'], []),
  binary: format(['a'], []),
}))
