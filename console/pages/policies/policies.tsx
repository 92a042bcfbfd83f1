import type { ComponentChildren } from 'preact';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import type { PolicyList } from '../../../contracts/policy.js';
import { settled } from '../../services.js';
import { Empty, Facts, Foreign, Id, OrAway, Table, Time } from '../../ui/parts.js';
import type { Page } from '../../visit.js';
import { policyAddress } from './policy.js';
import { timesSpoken } from './spoken.js';

const DAY_MS = 86_400_000;
/** Verdicts that are looked through; where there are more, the page says so. */
const VERDICTS = 2_000;

/** The rules that judge now, read-only, and how often each spoke in the last day. */
export const POLICIES: Page = {
  path: '/policies',
  role: 'viewer',
  nav: { label: 'Policies', key: 'p' },
  async show({ services, nowMs }) {
    const [list, verdicts] = await Promise.all([
      settled('The policy engine', services.policy.list()),
      settled(
        'The ledger',
        services.ledger.rows({
          agent: '*',
          methods: 'proxy.verdict',
          from: new Date(nowMs - DAY_MS).toISOString(),
          limit: VERDICTS,
        }),
      ),
    ]);
    return {
      title: 'Policies',
      body: (
        <section>
          <h1>Policies</h1>
          {!verdicts.ok && <OrAway of={verdicts}>{() => null}</OrAway>}
          <OrAway of={list}>
            {(found) => (
              <>
                <Facts
                  of={[
                    ['Bundle', <Id id={found.origin.wasm_sha256} />],
                    ['Loaded', <Time iso={found.origin.loaded_at} nowMs={nowMs} />],
                    ['Compiled by OPA', found.origin.opa_version],
                  ]}
                />
                <Rules list={found} verdicts={verdicts.ok ? verdicts.value : null} />
                {verdicts.ok && verdicts.value.length === VERDICTS && (
                  <p class="dim">Counted over the newest {VERDICTS} verdicts of the last day; there are more.</p>
                )}
              </>
            )}
          </OrAway>
        </section>
      ),
    };
  },
};

function Rules({ list, verdicts }: { readonly list: PolicyList; readonly verdicts: readonly LedgerEntry[] | null }) {
  const files = list.policies.filter(({ rules }) => rules.length > 0);
  if (files.length === 0) return <Empty>No rule is loaded.</Empty>;
  const words = files.flatMap(({ rules }) => rules.flatMap(({ reason }) => reason ?? []));
  const sharing = new Map<string, number>();
  for (const said of words) sharing.set(said, (sharing.get(said) ?? 0) + 1);
  const spoken = { times: verdicts && timesSpoken(words, verdicts), sharing };
  return (
    <Table label="Rules" heads={['File', 'Rule', 'What it says of a call', { number: 'Last day' }]}>
      {files.flatMap(({ name, as_shipped, rules }) =>
        rules.map(({ rule, line, title, description, reason }, at) => (
          <tr key={`${name}/${rule}/${at}`}>
            <td class="name">
              <a href={policyAddress(name)}>
                <code>{name}</code>
              </a>{' '}
              {!as_shipped && at === 0 && <span class="tag risky">changed here</span>}
            </td>
            <td>
              <a href={policyAddress(name, line)}>{title ?? <code>{rule}</code>}</a>
              {description && <p class="dim">{description}</p>}
            </td>
            <td>{reason && <Foreign text={reason.replaceAll('%s', '…')} />}</td>
            <td class="number">{isVerdict(rule) && spokenTold(reason, spoken)}</td>
          </tr>
        )),
      )}
    </Table>
  );
}

/** How often its words were said, and by how many rules, since a verdict does not say by which. */
function spokenTold(reason: string | null, { times, sharing }: Spoken): ComponentChildren {
  if (reason === null)
    return <Unknown why="The words of this rule are computed: no verdict can be told to be its own by them." />;
  if (times === null) return <Unknown why="The ledger is away." />;
  const others = (sharing.get(reason) ?? 1) - 1;
  const count = String(times.get(reason) ?? 0);
  return others === 0 ? count : `${count}, with ${others} other ${others === 1 ? 'rule' : 'rules'}`;
}

const isVerdict = (rule: string): boolean => rule === 'deny' || rule === 'review';

const Unknown = ({ why }: { readonly why: string }) => (
  <abbr title={why} tabIndex={0}>
    ?
  </abbr>
);

interface Spoken {
  /** `null` while the ledger is away. */
  readonly times: ReadonlyMap<string, number> | null;
  /** How many rules say the same words. */
  readonly sharing: ReadonlyMap<string, number>;
}
