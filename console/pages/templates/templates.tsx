import type { ShownTemplate } from '../../../contracts/policy-library.js';
import { tierTold } from '../../../domain/policy/policy-header.js';
import { settled } from '../../services.js';
import { addressOf } from '../../ui/addresses.js';
import { Empty, Foreign, OrAway, Table } from '../../ui/parts.js';
import type { Page } from '../../visit.js';
import { templateAddress } from '../policies/address.js';
import { engineStands, Standing } from '../policies/standing.js';

/** The catalogue: policies that ship without being in force. */
export const TEMPLATES: Page = {
  of: 'policy-changes',
  path: '/policies/templates',
  role: 'viewer',
  async show(visit) {
    const { services, query } = visit;
    const [found, stands] = await Promise.all([settled('policy', services.policy.templates()), engineStands(visit)]);
    const domain = query['domain'] || undefined;
    const words = (query['q'] ?? '').trim();
    return {
      title: 'Templates',
      body: (
        <section class="templates">
          <h1>Templates</h1>
          <p>
            Policies that ship with Gate and hold nowhere until somebody installs them.{' '}
            <a href="/policies">All rules</a>
          </p>
          <Standing of={stands} />
          <OrAway of={found}>
            {(all) => (
              <>
                <Domains of={all} now={domain} words={words} />
                <form class="filter" action="/policies/templates">
                  {domain && <input type="hidden" name="domain" value={domain} />}
                  <label>
                    Words <input name="q" value={words} placeholder="refund, GDPR, a tool" />
                  </label>
                  <button type="submit">Find</button>
                </form>
                <Listed of={all.filter((one) => (domain ?? one.domain) === one.domain && says(one, words))} />
              </>
            )}
          </OrAway>
        </section>
      ),
    };
  },
};

const says = (
  { name, summary, domain, severity, tier, frameworks, tags, tool_surface }: ShownTemplate,
  words: string,
) => {
  const text = [name, summary, domain, severity, tier, ...frameworks, ...tags, ...tool_surface].join(' ').toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
};

const Domains = ({
  of,
  now,
  words,
}: {
  readonly of: readonly ShownTemplate[];
  readonly now: string | undefined;
  readonly words: string;
}) => {
  const counts = new Map<string, number>();
  for (const { domain } of of) counts.set(domain, (counts.get(domain) ?? 0) + 1);
  const to = (domain: string | undefined) => addressOf('/policies/templates', { domain, q: words || undefined });
  return (
    <nav aria-label="Domains" class="domains">
      <a href={to(undefined)} aria-current={now === undefined ? 'page' : undefined}>
        all ({of.length})
      </a>
      {[...counts]
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([domain, count]) => (
          <a key={domain} href={to(domain)} aria-current={domain === now ? 'page' : undefined}>
            <Foreign text={domain} /> ({count})
          </a>
        ))}
    </nav>
  );
};

const byDomain = (one: ShownTemplate, other: ShownTemplate): number =>
  `${one.domain} ${one.name}` < `${other.domain} ${other.name}` ? -1 : 1;

const Listed = ({ of }: { readonly of: readonly ShownTemplate[] }) =>
  of.length === 0 ? (
    <Empty>No template says that. Fewer words find more.</Empty>
  ) : (
    <Table label="Templates" heads={['Template', 'Domain', 'Severity', 'Does', 'Frameworks', 'What it watches']}>
      {of.toSorted(byDomain).map(({ name, domain, severity, tier, frameworks, summary, installed }) => (
        <tr key={name}>
          <th scope="row" class="name">
            <a href={templateAddress(name)}>
              <Foreign text={name.replace(/\.rego$/, '')} />
            </a>{' '}
            {installed && <span class="tag allow">in force</span>}
          </th>
          <td>
            <Foreign text={domain} />
          </td>
          <td>{severity}</td>
          <td>{tierTold(tier)}</td>
          <td>
            <Foreign text={frameworks.join(', ')} />
          </td>
          <td>
            <Foreign text={summary} />
          </td>
        </tr>
      ))}
    </Table>
  );
