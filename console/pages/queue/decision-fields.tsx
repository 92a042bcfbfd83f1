import { randomUUID } from 'node:crypto';
import { assertionJson } from '../../../contracts/approval.js';
import type { PendingRequest } from '../../../contracts/review.js';
import { GateError } from '../../../domain/errors.js';
import { isUuid } from '../../../domain/uuid.js';
import type { Deciding, QueueQuery } from '../../services.js';
import { Csrf } from '../../ui/parts.js';
import type { Form, Visit } from '../../visit.js';
import { linkIn, listField } from './list-address.js';

/** What a form about a call carries of the page that it stands on: `asShown` and `inList` read it. */
export const DecisionFields = ({
  row,
  query,
  visit,
}: {
  readonly row: PendingRequest;
  readonly query: QueueQuery;
  readonly visit: Pick<Visit, 'csrf' | 'query'>;
}) => (
  <>
    <Csrf token={visit.csrf} />
    <input type="hidden" name="digest" value={row.original_payload_digest} />
    {/* The same form sent twice is one decision. */}
    <input type="hidden" name="request" value={randomUUID()} />
    <ListFields query={query} />
    <LinkField visit={visit} />
  </>
);

/** What every decision carries of the page it was made on: the digest of what was shown, and an id that makes a second click the same one. */
export function asShown(form: Form): Pick<Deciding, 'actionDigest' | 'requestId'> {
  const requestId = form.get('request');
  const actionDigest = form.get('digest');
  if (!isUuid(requestId) || actionDigest === '')
    throw new GateError('invalid_request', 'the form is not whole: load the page again. Nothing was decided');
  return { actionDigest, requestId };
}

/** The list beside a form, so that the page after it shows the same. */
export const ListFields = ({ query }: { readonly query: QueueQuery }) => (
  <input type="hidden" name="list" value={listField(query)} />
);

/** The decision link beside a form, so that a decision says that it was made by one. */
export const LinkField = ({ visit }: { readonly visit: Pick<Visit, 'query'> }) =>
  linkIn(visit) === '' ? null : <input type="hidden" name="link" value={linkIn(visit)} />;

/** The place of the signature. */
export const Signature = ({ needed }: { readonly needed: boolean }) =>
  needed ? (
    <>
      <input type="hidden" name="passkey" value="" />
      <noscript>This call is approved with a passkey, which needs scripts.</noscript>
    </>
  ) : null;

/** What a passkey signed, where the script put it into the form. It is of an approval: a denial beside it in the form needs none. */
export function signatureIn(form: Form): Pick<Deciding, 'passkey'> {
  const text = form.get('passkey');
  if (text === '') return {};
  try {
    const passkey = assertionJson.safeParse(JSON.parse(text));
    if (passkey.success) return { passkey: passkey.data };
  } catch {
    // Told below.
  }
  throw new GateError(
    'passkey_refused',
    'the form holds something else than what a passkey signed. Nothing was decided',
  );
}
