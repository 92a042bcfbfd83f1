import { LONGEST_POLICY_REASON, POLICY_ENGINE_AGENT } from '../../../contracts/policy-library.js';
import { GateError } from '../../../domain/errors.js';
import { oneLine } from '../../../domain/printable.js';
import type { SeenVersion } from '../../services.js';
import { addressOf } from '../../ui/addresses.js';
import { Empty, Foreign } from '../../ui/parts.js';
import type { Form } from '../../visit.js';
import { policyAddress } from './address.js';

/** Changes in words, by the kind of their rows. */
export const EVENTS: Readonly<Record<string, string>> = {
  'policy.created': 'created',
  'policy.updated': 'changed',
  'policy.activated': 'put in force',
  'policy.deactivated': 'switched off',
  'policy.deleted': 'deleted',
  'policy.installed_from_template': 'installed from a template',
};

/** Who made a change, as whoever signed the person in says. */
export const By = ({ of }: { readonly of: { readonly actor_sub: string; readonly actor_idp: string } }) => (
  <span title={`signed in by ${oneLine(of.actor_idp)}`}>
    <Foreign text={of.actor_sub} />
  </span>
);

/** The row of a change in the ledger, for the tenant whose policy it is. */
export const RowOf = ({ seq, isOwn }: { readonly seq: number | null; readonly isOwn: boolean }) => {
  if (seq === null) return <span class="dim">on its way</span>;
  if (!isOwn) return <>row {seq}</>;
  return <a href={addressOf('/audit', { agent: POLICY_ENGINE_AGENT, before: seq + 1 })}>row {seq}</a>;
};

/** Why somebody changes something. Throws where it is not said. */
export function reasonIn(form: Form): string {
  const reason = form.get('reason').trim();
  if (reason === '') throw new GateError('invalid_request', 'say why: the reason is recorded with the version');
  return reason;
}

/** The version that somebody looked at. */
export function versionIn(text: string | undefined): number {
  const version = Number(text);
  if (!Number.isSafeInteger(version) || version < 1 || version >= 2 ** 31)
    throw new GateError('not_found', 'There is no such version.');
  return version;
}

/** What somebody looked at when he changes a policy: its version, and which text that was. */
export const seenIn = (form: Form): SeenVersion => ({
  version: versionIn(form.get('version')),
  digest: form.get('digest') || null,
});

/** As the form of a text sends it, and as it is stored. */
export const bodyIn = (form: Form): string => form.get('body').replaceAll('\r\n', '\n');

/** The reason, to be typed: `reasonIn` reads it. */
export const PolicyReason = ({
  typed,
  label = 'Reason, which is recorded',
}: {
  readonly typed: string;
  readonly label?: string;
}) => (
  <label>
    {label}
    <input name="reason" required maxLength={LONGEST_POLICY_REASON} value={typed} />
  </label>
);

/** What the form is about, as it was looked at: `seenIn` reads it. */
export const SeenFields = ({ version, digest }: { readonly version: number | ''; readonly digest: string }) => (
  <>
    <input type="hidden" name="version" value={version} />
    <input type="hidden" name="digest" value={digest} />
  </>
);

export const NoSuchFile = () => (
  <Empty>
    There is no file of this name. <a href="/policies">All rules</a>
  </Empty>
);

/** Of the file of this name. */
export const NoSuchVersion = ({ name }: { readonly name: string }) => (
  <Empty>
    There is no such version. <a href={policyAddress(name)}>The policy as it is now</a>, or{' '}
    <a href="/policies">all rules</a>
  </Empty>
);
