import type { ComponentChildren } from 'preact';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import type { PolicyList } from '../../../contracts/policy.js';
import { oneLine } from '../../../domain/printable.js';
import { settled } from '../../services.js';
import { Count, Empty, Facts, Foreign, Id, OrAway, Table, Time } from '../../ui/parts.js';
import type { Page } from '../../visit.js';
import { policyAddress } from './address.js';
import { State } from './whose.js';
import { timesSpoken } from './spoken.js';
import { Standing } from './standing.js';

const DAY_HOURS = 24;
type Verdicts = readonly Pick<LedgerEntry, 'policy_decision'>[];
/** Verdicts that are looked through; where there are more, the page says so. */
const VERDICTS = 2_000;

/** The rules that judge now, how often each spoke in the last day, and the policies that operators keep beside them. */
export const POLICIES: Page = {
  path: '/policies',
  role: 'viewer',
  nav: { label: 'Policies', key: 'p' },
  async show({ services, has, mayPost, nowMs }) {
    const isKept = has('policy-changes');
    const [list, engine, verdicts] = await Promise.all([
      settled('policy', services.policy.list()),
      isKept ? services.policy.health() : null,
      settled('ledger', services.ledger.saidByRules(DAY_HOURS, VERDICTS)),
    ]);
    return {
      title: 'Policies',
      body: (
        <section>
          <h1>Policies</h1>
          {isKept ? (
            <p class="answers">
              <a class="button" href="/policies/templates">
                Templates
              </a>
              {mayPost('/policies/new') && (
                <>
                  <a class="button" href="/policies/suggestions">
                    Suggestions
                  </a>
                  <a class="button" href="/policies/new">
                    New policy
                  </a>
                </>
              )}
            </p>
          ) : (
            <p class="dim">The rules are files that are compiled before they are loaded: nothing is changed here.</p>
          )}
          {engine && list.ok && !engine.ok && (
            <p class="notice bad" role="alert">
              The policy engine is not ready, and may judge by older policies than are stored:{' '}
              <Foreign text={engine.words} />
            </p>
          )}
          {list.ok && <Standing of={list.value} />}
          {!verdicts.ok && <OrAway of={verdicts}>{() => null}</OrAway>}
          <OrAway of={list}>
            {(found) => (
              <>
                <Facts
                  of={[
                    ['Version in force', <Foreign text={found.bundle.version} />],
                    ['Bundle', <Id id={found.bundle.hash_sha256} />],
                    ['Loaded', <Time iso={found.origin.loaded_at} nowMs={nowMs} />],
                    ['Compiled by OPA', <Foreign text={found.origin.opa_version} />],
                  ]}
                />
                {isKept && <Kept of={found} mayWrite={mayPost('/policies/new')} nowMs={nowMs} />}
                {isKept && <h2>Rules in force</h2>}
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

/** The policies that operators keep, in force or not. */
const Kept = ({
  of,
  mayWrite,
  nowMs,
}: {
  readonly of: PolicyList;
  readonly mayWrite: boolean;
  readonly nowMs: number;
}) => {
  const kept = of.policies.filter((policy) => !policy.protected);
  return (
    <section>
      <h2>Policies of operators</h2>
      {kept.length === 0 ? (
        <Empty>
          None yet beside the rules that ship.{' '}
          {mayWrite ? (
            <>
              <a href="/policies/templates">Install a template</a>, or <a href="/policies/new">write one</a>.
            </>
          ) : (
            <>
              An administrator installs <a href="/policies/templates">templates</a> and writes them.
            </>
          )}
        </Empty>
      ) : (
        <Table
          label="Policies of operators"
          cards
          heads={[
            'Policy',
            'State',
            'Whose',
            'Domain',
            'Severity',
            { number: 'Version' },
            'Changed',
            'What it watches',
          ]}
        >
          {kept.map((policy) => (
            <tr key={`${policy.name} ${policy.tenant ?? ''}`}>
              <th scope="row" class="name lead">
                <a href={policyAddress(policy.name)}>
                  <Foreign text={policy.name} />
                </a>
              </th>
              <td class="lead">
                <State of={policy} isLate={of.not_in_force !== null} />
                {policy.tampered !== undefined && <span class="tag risky">edited in the store</span>}
              </td>
              <td data-head="of">{policy.tenant === null ? 'everybody' : 'your tenant'}</td>
              <td>{policy.domain && <Foreign text={policy.domain} />}</td>
              <td data-head="severity">{policy.severity ?? ''}</td>
              <Count head="version">{policy.current_version}</Count>
              <td data-head="changed">{policy.updated_at && <Time iso={policy.updated_at} nowMs={nowMs} />}</td>
              <td>{policy.summary && <Foreign text={policy.summary} />}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
};

function Rules({ list, verdicts }: { readonly list: PolicyList; readonly verdicts: Verdicts | null }) {
  const files = list.policies.filter(({ rules, active }) => active && rules.length > 0);
  if (files.length === 0) return <Empty>No rule is loaded.</Empty>;
  const words = files.flatMap(({ rules }) => rules.flatMap(({ reason }) => reason ?? []));
  const sharing = new Map<string, number>();
  for (const said of words) sharing.set(said, (sharing.get(said) ?? 0) + 1);
  const spoken = { times: verdicts && timesSpoken(words, verdicts), sharing };
  const shared = filesOf(files, (rule) => !isVerdict(rule));
  const parts = shared.flatMap(({ rules }) => rules).length;
  return (
    <>
      <RuleTable label="Rules" files={filesOf(files, isVerdict)} spoken={spoken} />
      {parts > 0 && (
        <details>
          <summary>{`What the rules above are made of: ${parts === 1 ? '1 definition' : `${parts} definitions`}`}</summary>
          <RuleTable label="Definitions that rules share" files={shared} spoken={null} />
        </details>
      )}
    </>
  );
}

type File = PolicyList['policies'][number];
/** The files with those of their rules, without files that have none. */
const filesOf = (files: readonly File[], which: (rule: string) => boolean): readonly File[] =>
  files
    .map((file) => ({ ...file, rules: file.rules.filter(({ rule }) => which(rule)) }))
    .filter(({ rules }) => rules.length > 0);

/** The rules of files; `spoken` says how often each spoke, and is `null` for what speaks to nobody. */
const RuleTable = ({
  label,
  files,
  spoken,
}: {
  readonly label: string;
  readonly files: readonly File[];
  readonly spoken: Spoken | null;
}) => (
  <Table
    label={label}
    cards
    heads={spoken ? ['File', 'Rule', 'What it says of a call', { number: 'Last day' }] : ['File', 'Definition']}
  >
    {files.flatMap(({ name, as_shipped, protected: isFloor, rules }) =>
      rules.map(({ rule, line, title, description, reason }, at) => (
        <tr key={`${name}/${rule}/${at}`}>
          <td class="name">
            <a href={policyAddress(name)}>
              <code>{oneLine(name)}</code>
            </a>{' '}
            {isFloor && !as_shipped && at === 0 && <span class="tag risky">changed here</span>}
            {!isFloor && at === 0 && <span class="tag none">of operators</span>}
          </td>
          <td class="lead">
            <a href={policyAddress(name, line)}>{title === null ? <code>{oneLine(rule)}</code> : oneLine(title)}</a>
            {description && <p class="dim">{oneLine(description)}</p>}
          </td>
          {spoken && (
            <>
              <td>{reason && <Foreign text={reason.replaceAll('%s', '…')} />}</td>
              <Count head="last day">{spokenTold(reason, spoken)}</Count>
            </>
          )}
        </tr>
      )),
    )}
  </Table>
);

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
