import type { ChatLink } from '../../../contracts/chat-link.js';
import type { OwnPasskey } from '../../../contracts/approval.js';
import { GateError } from '../../../domain/errors.js';
import { type Settled, settled } from '../../services.js';
import { Csrf, Facts, Foreign, OrAway, PasskeyKey, Table, Time } from '../../ui/parts.js';
import type { Action, Form, NeedsPasskey, OpenHere, Page, Shown, Visit } from '../../visit.js';
import { withTyped } from '../../ui/typed.js';

/** Who is signed in, where else, and the passkeys of that person. */
export const YOU: Page = {
  path: '/me',
  role: 'viewer',
  nav: { label: 'You', key: 'y' },
  show: (visit) => youShown(visit),
};

async function youShown(visit: Visit, typed?: Form): Promise<Shown> {
  const { subject, tenant, role, mode } = visit.person;
  const hasOwn = visit.has('passkeys') && (mode === 'operator-token' || mode === 'webauthn');
  const decides = visit.mayPost('/me/link-chat');
  const [open, own, signs, chats] = await Promise.all([
    visit.sessions.open(),
    hasOwn ? ownPasskeysOf(visit) : null,
    hasOwn ? visit.signing() : null,
    decides ? settled('hil', visit.services.hil.chatLink()) : null,
  ]);
  return {
    title: 'You',
    body: (
      <section
        data-passkeys={visit.has('passkeys') ? visit.csrf : undefined}
        data-links={mode === 'webauthn' ? '' : undefined}
        data-name={visit.has('passkeys') ? subject.replace(/^(operator|webauthn):/, '') : undefined}
      >
        <h1>You</h1>
        <Facts
          of={[
            ['Name', <Foreign text={subject} />],
            ['Tenant', tenant ?? 'all of them'],
            ['Role', role],
            ['Signed in by', mode],
          ]}
        />
        <h2>Signed in</h2>
        <p>
          In a browser
          {visit.has('command-line') && (
            <>
              , or at a command line by <code>gate login</code>
            </>
          )}
          . End any session that you do not recognise.
        </p>
        <Sessions of={open} visit={visit} />
        {chats && (
          <>
            <h2>Chats</h2>
            <OrAway of={chats}>{(link) => <Chats of={link} visit={visit} />}</OrAway>
            {isAdminHere(visit) && <OthersChats csrf={visit.csrf} typed={typed} />}
          </>
        )}
        <section hidden data-keys>
          <h2>Keys</h2>
          <label>
            <input type="checkbox" /> Single keys work in this browser: j, k, a, d and others; <kbd>?</kbd> lists them
          </label>
        </section>
        {visit.has('passkeys') && (
          <>
            <h2>Passkeys</h2>
            <div data-passkeys-had>
              {own && <OrAway of={own}>{(keys) => <Registered of={keys} nowMs={visit.nowMs} />}</OrAway>}
              {mode === 'operator-token' && signs && <Signs asks={signs} />}
            </div>
            {mode === 'operator-token' && <Passkeys />}
            {mode === 'webauthn' && <OwnPasskeys isAdmin={role === 'admin'} />}
            {mode !== 'operator-token' && mode !== 'webauthn' && (
              <p>
                Who signs in this way has no passkeys: they belong to operators with a token, and to people who sign in
                by one.
              </p>
            )}
          </>
        )}
      </section>
    ),
  };
}

/** `null` for who has none because he may not approve. */
const ownPasskeysOf = async ({ services }: Visit): Promise<Settled<readonly OwnPasskey[]> | null> =>
  settled('hil', services.hil.passkeys()).catch(() => null);

/** Which passkeys the person has. Their ids say nothing to anybody; the ends of them tell one from another. */
export function Registered({ of, nowMs }: { readonly of: readonly OwnPasskey[]; readonly nowMs: number }) {
  if (of.length === 0) return <p>You have no passkey.</p>;
  return (
    <Table label="Your passkeys" heads={['Passkey', 'Registered']}>
      {of.map(({ credential_id: id, created_at: at }) => (
        <tr key={id}>
          <th scope="row">
            <code>…{id.slice(-8)}</code>
          </th>
          <td>
            <Time iso={at} nowMs={nowMs} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

const Sessions = ({ of, visit: { csrf, nowMs } }: { readonly of: readonly OpenHere[]; readonly visit: Visit }) => {
  const time = (ms: number) => <Time iso={new Date(ms).toISOString()} nowMs={nowMs} />;
  return (
    <Table label="Where you are signed in" heads={['Where', 'Since', 'Last used', 'Ends', 'To end it']}>
      {of.map(({ id, kind, openedMs, seenMs, untilMs, askedFrom, isThis }) => (
        <tr key={id}>
          <th scope="row">
            {kind === 'browser' ? 'A browser' : 'A command line'}
            {askedFrom !== null && (
              <>
                {' at '}
                <Foreign text={askedFrom} />
              </>
            )}
          </th>
          <td>{time(openedMs)}</td>
          <td>{time(seenMs)}</td>
          <td>{time(untilMs)}</td>
          <td>
            {isThis ? (
              'this one'
            ) : (
              <form method="post" action="/me/end">
                <Csrf token={csrf} />
                <input type="hidden" name="session" value={id} />
                <button class="destroy" type="submit">
                  End
                </button>
              </form>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
};

const CHATS = [
  ['slack', 'Slack'],
  ['teams', 'Teams'],
] as const;

/** From which accounts of chats the person decides. Nobody types an account: a code proves that it is his. */
function Chats({ of, visit: { csrf, nowMs } }: { readonly of: ChatLink | null; readonly visit: Visit }) {
  const linked = CHATS.flatMap(([chat, name]) => {
    const account = of?.[`${chat}_user_id`] ?? null;
    return account === null ? [] : [{ chat, name, account }];
  });
  return (
    <>
      {linked.length === 0 ? (
        <p>No account of a chat decides as you.</p>
      ) : (
        <Table label="Your accounts in chats" heads={['Chat', 'Account', 'Linked', 'Last click', 'To end it']}>
          {linked.map(({ chat, name, account }) => (
            <tr key={chat}>
              <th scope="row">{name}</th>
              <td>
                <Foreign text={account} />
              </td>
              <td>{of && <Time iso={of.linked_at} nowMs={nowMs} />}</td>
              <td>{of?.last_verified ? <Time iso={of.last_verified} nowMs={nowMs} /> : 'none'}</td>
              <td>
                <form method="post" action="/me/unlink-chat">
                  <Csrf token={csrf} />
                  <input type="hidden" name="chat" value={chat} />
                  <button class="destroy" type="submit">
                    Unlink
                  </button>
                </form>
              </td>
            </tr>
          ))}
        </Table>
      )}
      <p>
        Click Approve or Deny on a card of Gate in the chat: where the account is nobody's, Gate answers with a code.
        Enter only a code that Gate showed to you in your own chat: whoever has that account decides as you from then
        on.
      </p>
      <form method="post" action="/me/link-chat" class="actions">
        <Csrf token={csrf} />
        <label>
          The code <input name="code" required maxLength={300} autocomplete="off" />
        </label>{' '}
        <button class="act" type="submit">
          Link the account
        </button>
      </form>
    </>
  );
}

/** One tenant's administrator: whoever is of all tenants would have to say whose person is meant. */
const isAdminHere = ({ person, mayPost }: Visit): boolean => person.tenant !== null && mayPost('/me/unlink-chat-of');

/** For a phone that was lost, or somebody who may not decide in a chat any more. The name is typed, so nobody is unlinked by a slip. */
const OthersChats = ({ csrf, typed }: { readonly csrf: string; readonly typed: Form | undefined }) => (
  <>
    <h3>Somebody else’s account</h3>
    <p>
      It decides nothing from then on. The person may link one again, and still decides in the console; the review
      service’s log says who unlinked whom.
    </p>
    <form method="post" action="/me/unlink-chat-of" class="actions">
      <Csrf token={csrf} />
      <label>
        Decides as <input name="name" required maxLength={300} autocomplete="off" value={typed?.get('name')} />
      </label>{' '}
      <label>
        Chat{' '}
        <select name="chat">
          {CHATS.map(([chat, name]) => (
            <option key={chat} value={chat} selected={typed?.get('chat') === chat}>
              {name}
            </option>
          ))}
        </select>
      </label>{' '}
      <button class="destroy" type="submit">
        Unlink
      </button>
    </form>
  </>
);

/** Links the account of a chat to which a code was shown. */
export const LINK_CHAT: Action = {
  path: '/me/link-chat',
  role: 'approver',
  of: 'chat-clicks',
  does: 'link an account of a chat to oneself',
  written: { code: 'Code' },
  async act(visit, form) {
    await visit.services.hil.linkChat(form.get('code').trim());
    return '/me';
  },
  refused: async (visit, form) => withTyped(form, await youShown(visit)),
};

export const UNLINK_CHAT: Action = {
  path: '/me/unlink-chat',
  role: 'approver',
  of: 'chat-clicks',
  does: 'unlink an account of a chat from oneself',
  written: {},
  async act(visit, form) {
    const chat = form.get('chat') === 'teams' ? 'teams' : 'slack';
    await visit.services.hil.unlinkChat(chat);
    return '/me';
  },
  refused: (visit) => youShown(visit),
};

export const UNLINK_CHAT_OF: Action = {
  path: '/me/unlink-chat-of',
  role: 'admin',
  of: 'chat-clicks',
  does: 'unlink an account of a chat from somebody else',
  written: { name: 'Decides as' },
  async act(visit, form) {
    const chat = form.get('chat') === 'teams' ? 'teams' : 'slack';
    const where = chat === 'teams' ? 'Teams' : 'Slack';
    const name = form.get('name').trim();
    try {
      await visit.services.hil.unlinkChatOf(name, chat);
    } catch (error) {
      if (error instanceof GateError && error.code === 'not_found')
        throw new GateError('not_found', `No account of ${where} decides as ${name}.`);
      throw error;
    }
    const text = (
      <>
        No account of {where} decides as <Foreign text={name} /> any more.
      </>
    );
    return { ...(await youShown(visit)), keptForBack: true, notice: { kind: 'good', text } };
  },
  refused: (visit, form) => youShown(visit, form),
};

/** Signs the person out somewhere else. */
export const END_SESSION: Action = {
  path: '/me/end',
  role: 'viewer',
  does: 'end a session of oneself',
  written: {},
  async act(visit, form) {
    if (!(await visit.sessions.end(form.get('session'))))
      throw new GateError('not_found', 'You have no such session any more.');
    return '/me';
  },
  refused: (visit) => youShown(visit),
};

/** What a passkey of the person is for here. */
export function Signs({ asks }: { readonly asks: NeedsPasskey }) {
  const second = 'Register one, and a second on another device in case the first is lost.';
  if (!asks('strict'))
    return (
      <p>
        This Gate asks you for no passkey when you approve (<code>GATE_HIL_PASSKEY_REQUIRED</code>): nothing that you
        approve in the console is signed by one. {second} A passkey signs once the setting asks for it:{' '}
        <code>registered</code> asks whoever has one.
      </p>
    );
  return (
    <p>
      With a passkey you sign{' '}
      {asks(null) ? 'what you approve' : 'the calls that you approve whose tier of approval is strict'}, on a device of
      your own, so that anybody can check later that it was you. {second}
    </p>
  );
}

const Passkeys = () => (
  <>
    <noscript>
      <p class="notice bad">A passkey needs scripts: they are off in this browser.</p>
    </noscript>
    <p class="actions">
      <button class="act" type="button" data-passkey-do="register">
        Register a passkey
      </button>
      <button type="button" data-passkey-do="login">
        Log in with it, to register another
      </button>
    </p>
    <p role="status" data-passkey-said />
    <PasskeyKey />
    <h2>Somebody lost a passkey</h2>
    <p>Log in with yours first. The token that you get is shown once; hand it over yourself.</p>
    <p class="actions">
      <label>
        Name <input data-passkey-of autocomplete="off" />
      </label>{' '}
      <button type="button" data-passkey-do="recover">
        Allow a new one
      </button>
    </p>
    <p class="actions">
      <label>
        Your token <input data-passkey-token autocomplete="off" />
      </label>{' '}
      <button type="button" data-passkey-do="replace">
        Replace my passkeys
      </button>
    </p>
  </>
);

/** Of somebody who signs in by a passkey alone. */
const OwnPasskeys = ({ isAdmin }: { readonly isAdmin: boolean }) => (
  <>
    <p>Register a second passkey on another device, in case this one is lost.</p>
    <p class="actions">
      <button class="act" type="button" data-passkey-do="register">
        Register another passkey
      </button>
    </p>
    {isAdmin && (
      <>
        <h2>People</h2>
        <p>
          Whom you invite decides from then on. A link is shown once and holds for one use: an invitation for a day, one
          in place of lost passkeys for 15 minutes. Hand it over yourself.
        </p>
        <p class="actions">
          <label>
            Name <input data-passkey-of autocomplete="off" />
          </label>{' '}
          <button type="button" data-passkey-do="invite">
            Invite
          </button>{' '}
          <button type="button" data-passkey-do="recover">
            Allow a new passkey
          </button>{' '}
          <button class="destroy" type="button" data-passkey-do="remove">
            Take out
          </button>
        </p>
      </>
    )}
    <p role="status" data-passkey-said />
    <PasskeyKey />
  </>
);
