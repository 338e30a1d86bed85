// `env:NAME`: for development. Other processes of the same user can read it, and children inherit it.
import type { Secret } from '../secret.ts'
import { secretOf, SecretUnavailable, type SecretSource } from './secret-source.ts'

/** @param env the environment as it was when the process started; it is not looked at again, so a value here never changes */
export function openEnv (name: string, env: Readonly<Record<string, string | undefined>>): SecretSource {
  let secret: Secret | null = null
  return {
    async current () {
      const value = Object.hasOwn(env, name) ? env[name] : undefined
      if (value === undefined) throw new SecretUnavailable(`env:${name} is not set`)
      secret ??= secretOf(`env:${name}`, Buffer.from(value))
      return secret
    },
    latest: () => secret === null ? null : { secret, replacedAtMs: null },
    live: () => secret === null ? [] : [secret],
    doubt: () => {},
  }
}
