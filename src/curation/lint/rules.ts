// The rules, in the order in which the docs tell them.
import type { Rule } from './rule.ts'
import { absenceNotProvable } from './rules/absence-not-provable.ts'
import { annotationsNotDerivable } from './rules/annotations-not-derivable.ts'
import { argumentNameNotSnakeCase } from './rules/argument-name-not-snake-case.ts'
import { argumentNeverShown } from './rules/argument-never-shown.ts'
import { argumentUntyped } from './rules/argument-untyped.ts'
import { argumentWithoutDescription } from './rules/argument-without-description.ts'
import { cautionInPlaceOfLimit } from './rules/caution-in-place-of-limit.ts'
import { consentBelowConsequence } from './rules/consent-below-consequence.ts'
import { constraintInProse } from './rules/constraint-in-prose.ts'
import { descriptionLength } from './rules/description-length.ts'
import { descriptionNotVerbFirst } from './rules/description-not-verb-first.ts'
import { descriptionShowsInternals } from './rules/description-shows-internals.ts'
import { descriptionWithoutErrors } from './rules/description-without-errors.ts'
import { descriptionWithoutFreshness } from './rules/description-without-freshness.ts'
import { descriptionWithoutLimits } from './rules/description-without-limits.ts'
import { descriptionWithoutReturns } from './rules/description-without-returns.ts'
import { descriptionWithoutUse } from './rules/description-without-use.ts'
import { effectContradictsDescription } from './rules/effect-contradicts-description.ts'
import { effectContradictsMethod } from './rules/effect-contradicts-method.ts'
import { enumOfLiveIdentifiers } from './rules/enum-of-live-identifiers.ts'
import { exampleMissing } from './rules/example-missing.ts'
import { exampleRefused } from './rules/example-refused.ts'
import { exampleWithoutResult } from './rules/example-without-result.ts'
import { freeTextInEffect } from './rules/free-text-in-effect.ts'
import { freeTextOnlyInput } from './rules/free-text-only-input.ts'
import { freeTextReachesPath } from './rules/free-text-reaches-path.ts'
import { hiddenCharacters } from './rules/hidden-characters.ts'
import { identifierWithoutSource } from './rules/identifier-without-source.ts'
import { listWithoutBound } from './rules/list-without-bound.ts'
import { nameNotVerbObject } from './rules/name-not-verb-object.ts'
import { namePromisesMore } from './rules/name-promises-more.ts'
import { numberWithoutBound } from './rules/number-without-bound.ts'
import { optionalWithoutMeaning } from './rules/optional-without-meaning.ts'
import { overlappingActions } from './rules/overlapping-actions.ts'
import { patternSuperLinear } from './rules/pattern-super-linear.ts'
import { patternWithoutMaxLength } from './rules/pattern-without-max-length.ts'
import { requiredNotHonest } from './rules/required-not-honest.ts'
import { resultMissing } from './rules/result-missing.ts'
import { resultProvesNothing } from './rules/result-proves-nothing.ts'
import { retryContradictsRequest } from './rules/retry-contradicts-request.ts'
import { schemaNotPortable } from './rules/schema-not-portable.ts'
import { stringWithoutBound } from './rules/string-without-bound.ts'
import { targetWithoutVersion } from './rules/target-without-version.ts'
import { tooManyActionsForRole } from './rules/too-many-actions-for-role.ts'
import { vagueVerb } from './rules/vague-verb.ts'
import { versionNotCarried } from './rules/version-not-carried.ts'
import { viewOpen } from './rules/view-open.ts'
import { viewShowsSecret } from './rules/view-shows-secret.ts'
import { viewWithoutBound } from './rules/view-without-bound.ts'
import { writeWithoutLookUp } from './rules/write-without-look-up.ts'

export const RULES: readonly Rule[] = [
  descriptionLength, descriptionNotVerbFirst, descriptionWithoutUse, descriptionWithoutLimits, descriptionWithoutReturns,
  descriptionWithoutErrors, descriptionWithoutFreshness, cautionInPlaceOfLimit,
  argumentUntyped, argumentWithoutDescription, requiredNotHonest, constraintInProse, optionalWithoutMeaning, identifierWithoutSource,
  enumOfLiveIdentifiers, freeTextOnlyInput, stringWithoutBound, listWithoutBound, numberWithoutBound,
  annotationsNotDerivable, resultMissing, resultProvesNothing, viewWithoutBound,
  nameNotVerbObject, vagueVerb, namePromisesMore, argumentNameNotSnakeCase,
  exampleMissing, exampleRefused, exampleWithoutResult, argumentNeverShown,
  effectContradictsMethod, effectContradictsDescription, retryContradictsRequest, writeWithoutLookUp, absenceNotProvable,
  consentBelowConsequence, viewShowsSecret, viewOpen, freeTextReachesPath, freeTextInEffect, targetWithoutVersion, versionNotCarried,
  patternWithoutMaxLength, patternSuperLinear, overlappingActions, descriptionShowsInternals, hiddenCharacters, tooManyActionsForRole,
  schemaNotPortable,
]
