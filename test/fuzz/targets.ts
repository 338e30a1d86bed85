import { auditVerifier } from './audit.ts'
import { canonical } from './canonical.ts'
import { decoder } from './decoder.ts'
import { integers } from './integers.ts'
import { projection } from './projection.ts'
import { secretScan } from './secrets.ts'
import { address, form, jsonBody, multipart, path, query } from './serializer.ts'
import type { Target } from './target.ts'

export const TARGETS: readonly Target[] = [
  decoder, path, address, query, form, jsonBody, multipart, integers, canonical, projection, secretScan, auditVerifier,
]
