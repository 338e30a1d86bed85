// The suite that both drivers pass: every guarantee of the port's docstrings.
import type { TestContext } from 'node:test'
import type { Retention } from '../../src/store/retention.ts'
import type { Store } from '../../src/store/store.ts'
import { beginContract } from './contract-begin.ts'
import { advanceContract } from './contract-advance.ts'
import { consumeContract } from './contract-consume.ts'
import { proposalContract } from './contract-proposals.ts'
import { lockContract } from './contract-lock.ts'
import { runContract } from './contract-run.ts'
import { timeContract } from './contract-time.ts'

/** Opens an empty store and closes it after the test. */
export type OpenStore = (t: TestContext, options?: { readonly retention?: Retention }) => Promise<Store>

export function storeContract (name: string, open: OpenStore): void {
  beginContract(name, open)
  advanceContract(name, open)
  runContract(name, open)
  lockContract(name, open)
  timeContract(name, open)
  proposalContract(name, open)
  consumeContract(name, open)
}
