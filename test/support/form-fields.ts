import { GRANT_ID, SEEN_BUDGETS, SEEN_STOP } from './identity-answers.js';
import type { PendingRequest } from '../../contracts/review.js';

/** Every field that a form of the console reads, each with something that it takes: a new form's fields stand here, and nowhere else. */
export const fieldsOfForms = ({
  row,
  request,
  session,
  userCode,
  linkCode,
  agent = 'a-bot',
}: {
  readonly row: PendingRequest;
  readonly request: string;
  /** A session of the same person. */
  readonly session: string;
  readonly userCode: string;
  readonly linkCode: string;
  /** Whose page the form stands on. */
  readonly agent?: string;
}) => ({
  id: row.id,
  digest: row.original_payload_digest,
  request,
  row: `${row.id} ${row.original_payload_digest} ${request}`,
  decision: 'approve',
  'value.0': '7',
  reason: 'a reason',
  assignee: 'operator:second',
  note: 'a note',
  from: '2020-01-01',
  to: '2100-01-01',
  query: 'agent=a',
  name: 'mine',
  title: 'a case',
  agent: 'a bot',
  severity: 'death',
  status: 'closed',
  policy_name: 'a.rego',
  body: '# a rule',
  version: '1',
  user_code: userCode,
  code: linkCode,
  chat: 'slack',
  seen: SEEN_STOP,
  for: '2h',
  tool: 'a_tool',
  unlisted: 'yes',
  tenant_name: 'acme',
  grant: GRANT_ID,
  measurement: GRANT_ID,
  decoy: 'a_decoy',
  agent_typed: agent,
  agent_description: 'pays refunds',
  scopes: 'tool:pay',
  upstream: 'a_server',
  upstream_url: 'https://tools.example/mcp',
  tls_pin: `sha256:${'a'.repeat(64)}`,
  spiffe_id: 'spiffe://tools.example/a',
  owner_team: 'payments',
  decoy_value: 'a value of a decoy',
  advertised: '',
  containment: 'none',
  budgets: SEEN_BUDGETS,
  whose: 'agent',
  agent_name: 'a-bot',
  sum: '12.50',
  session,
});
