import type { EventKind } from '../../contracts/event-kinds.js';
import type { JsonObject } from '../../contracts/json.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { fittingRow } from './fitting-row.js';

/** The tenant of Gate's own rows: erasures, exports, anchors. It cannot be erased. */
export const OWN_TENANT = 'system';

/** Something the ledger did, as a row of its own chain. */
export const ownRow = (kind: EventKind, id: string, did: JsonObject): NewLedgerRow =>
  fittingRow({
    id,
    agent_id: 'gate-ledger',
    method: kind,
    event_kind: kind,
    intent_category: 'Lifecycle',
    authorized: true,
    reasoning: '',
    policy_decision: did,
    state_namespace: 'operator',
    tenant: OWN_TENANT,
  });
