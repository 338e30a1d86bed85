// `aval token`: an access token for development, signed with a key file of this machine.
import { readClaimFlags } from './claim-flags.ts'
import { CommandFault, parseSeconds, type Ask, type Command, type ExitCode } from './command.ts'
import { makeSigningKey, mintToken, readSigningKey, SigningKeyFault, TokenFault, writeSigningKey } from './token.ts'

export const token: Command = {
  name: 'token',
  summary: 'Mint an access token for development. In production the identity provider does that.',
  usage: '--key-file PATH [--new-key] | --key-file PATH --issuer ISS --audience AUD --sub SUB [--role ROLE]… [--run RUN]',
  flags: {
    'key-file': { type: 'string', value: 'PATH', about: 'the private key that signs, one JWK' },
    'new-key': { type: 'boolean', about: 'make the key file and PATH.jwks.json for AVAL_JWKS, and nothing else' },
    issuer: { type: 'string', value: 'ISS', about: 'iss; AVAL_ISSUER where it is absent' },
    audience: { type: 'string', value: 'AUD', about: 'aud; AVAL_AUDIENCE where it is absent' },
    sub: { type: 'string', value: 'SUB', about: 'the agent' },
    role: { type: 'string', multiple: true, value: 'ROLE', about: 'a role of policy.yaml' },
    run: { type: 'string', value: 'RUN', about: 'the run; without it only observations are callable' },
    tenant: { type: 'string', value: 'TENANT', about: 'the tenant; `default` where it is absent' },
    ttl: { type: 'string', value: '1h', about: 'how long it lives, at most 24h; 1h where it is absent' },
    claim: { type: 'string', multiple: true, value: 'NAME=TEXT', about: 'a further claim: NAME=TEXT is text, NAME:=JSON is JSON' },
  },
  words: { min: 0, max: 0 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const path = required(ask, 'key-file')
  try {
    return ask.flags.on('new-key') ? await makeKeyFile(ask, path) : await mint(ask, path)
  } catch (error) {
    if (error instanceof SigningKeyFault || error instanceof TokenFault) throw new CommandFault(error.message)
    throw error
  }
}

async function makeKeyFile (ask: Ask, path: string): Promise<ExitCode> {
  const key = await makeSigningKey()
  const { jwksPath } = await writeSigningKey(key, path)
  if (ask.json) ask.print(JSON.stringify({ kid: key.kid, key_file: path, jwks_file: jwksPath }))
  else ask.tell(`the key is in ${path}; start the broker with AVAL_JWKS=file:${jwksPath}`)
  return 0
}

async function mint (ask: Ask, path: string): Promise<ExitCode> {
  const ttl = ask.flags.text('ttl')
  const run = ask.flags.text('run')
  const tenant = ask.flags.text('tenant')
  const minted = await mintToken({
    key: await readSigningKey(path),
    issuer: ask.flags.text('issuer') ?? ask.env['AVAL_ISSUER'] ?? required(ask, 'issuer'),
    audience: ask.flags.text('audience') ?? ask.env['AVAL_AUDIENCE'] ?? required(ask, 'audience'),
    sub: required(ask, 'sub'),
    roles: ask.flags.texts('role'),
    claims: readClaimFlags(ask.flags.texts('claim')),
    ...(run !== null && { run }),
    ...(tenant !== null && { tenant }),
    ...(ttl !== null && { ttlSeconds: parseSeconds('ttl', ttl) }),
  })
  ask.print(ask.json ? JSON.stringify({ token: minted }) : minted)
  return 0
}

function required (ask: Ask, flag: string): string {
  const value = ask.flags.text(flag)
  if (value === null) throw new CommandFault(`--${flag} is missing`)
  return value
}
