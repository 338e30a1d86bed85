// Runs in a thread of its own, for age.ts: opens or seals one file.
import { parentPort, workerData } from 'node:worker_threads'
import { armor, Decrypter, Encrypter } from 'age-encryption'
import type { AgeDone, AgeTask } from './age.ts'

const ARMOR = '-----BEGIN AGE ENCRYPTED FILE-----'

async function work (task: AgeTask): Promise<unknown> {
  if (task.what === 'open') {
    const decrypter = new Decrypter()
    if (task.key.kind === 'passphrase') decrypter.addPassphrase(task.key.value)
    else decrypter.addIdentity(task.key.value)
    const bytes = Buffer.from(task.bytes)
    const armored = bytes.subarray(0, ARMOR.length).toString('latin1') === ARMOR
    return decrypter.decrypt(armored ? armor.decode(bytes.toString('latin1')) : bytes, 'text')
  }
  const encrypter = new Encrypter()
  if (task.passphrase !== null) encrypter.setPassphrase(task.passphrase)
  for (const recipient of task.recipients) encrypter.addRecipient(recipient)
  return encrypter.encrypt(task.text)
}

const done = await work(workerData as AgeTask).then<AgeDone, AgeDone>(value => ({ ok: true, value }), () => ({ ok: false, message: 'it failed' }))
parentPort?.postMessage(done)
