import type { PolicyFileShown, PolicyList } from '../../../contracts/policy.js';
import { settled } from '../../services.js';
import { Empty, Facts, Foreign, Id, OrAway } from '../../ui/parts.js';
import type { Page } from '../../visit.js';
import { wordsIn } from '../../../domain/policy/reason-words.js';

/** Where a file of rules is shown, at a line of it. */
export const policyAddress = (name: string, line?: number): string =>
  `/policies/${encodeURIComponent(name)}${line === undefined ? '' : `#L${line}`}`;

/** A rule by its place. */
export interface RulePlace {
  readonly name: string;
  readonly line: number;
  readonly title: string | null;
}

/** The rules of now that say what a verdict says. Several may share their words, and a verdict does not name which of them spoke. */
export function rulesThatSay({ policies }: PolicyList): (line: string) => readonly RulePlace[] {
  const all = policies.flatMap(({ name, rules }) => rules.map((rule) => ({ ...rule, name })));
  const wordsOf = wordsIn(all.flatMap(({ reason }) => reason ?? []));
  return (said) => {
    const words = wordsOf(said);
    return words === null ? [] : all.filter(({ reason }) => reason === words);
  };
}

/** One file of the rules that judge now, as it was loaded. Nothing is changed here. */
export const POLICY: Page = {
  path: '/policies/:name',
  role: 'viewer',
  async show({ params, services }) {
    const name = params['name'] ?? '';
    const file = await settled('The policy engine', services.policy.file(name));
    const isMissing = file.ok && file.value === null;
    return {
      title: name,
      ...(isMissing && { status: 404 }),
      body: (
        <section>
          <h1>
            <Foreign text={name} />
          </h1>
          <p>
            <a href="/policies">All rules</a>
          </p>
          <OrAway of={file}>
            {(found) => (found === null ? <Empty>No file of this name judges now.</Empty> : <File of={found} />)}
          </OrAway>
        </section>
      ),
    };
  },
};

const File = ({ of }: { readonly of: PolicyFileShown }) => (
  <>
    <Facts
      of={[
        ['Version', String(of.current_version)],
        ['As shipped', of.as_shipped ? 'yes' : 'no: changed here'],
        ['SHA-256', <Id id={of.current_body_sha256} />],
      ]}
    />
    <pre class="source" tabIndex={0} aria-label="Source">
      {of.current_body.split('\n').map((line, at) => (
        <span id={`L${at + 1}`} key={at}>
          {`${line}\n`}
        </span>
      ))}
    </pre>
  </>
);
