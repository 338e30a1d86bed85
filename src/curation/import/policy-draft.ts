// policy.yaml where there is none yet. Nothing is granted by default: it grants the drafts to a role that nobody has until a person says who.
import type { Effect } from '../../catalog/catalog.ts'
import { Judged, writeDrafted } from './drafted.ts'

/** @param actions ids, `get_ticket.v1` @param effect the gravest of theirs */
export function draftPolicy (upstream: string, actions: readonly string[], effect: Effect): string {
  const role = `${upstream.replaceAll('-', '_')}_agent`
  return writeDrafted({
    roles: { [role]: { actions: new Judged([...actions], 'who may call these? Roles are those of access tokens'), max_effect: effect } },
  }, ['Who may call what. Nothing is granted by default, and names are exact: a new version of an action is a new grant.'])
}
