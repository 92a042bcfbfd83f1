import { Facts, Foreign } from '../../ui/parts.js';
import type { Page } from '../../visit.js';

/** Who is signed in, and the passkeys of that person. */
export const YOU: Page = {
  path: '/me',
  role: 'viewer',
  nav: { label: 'You', key: 'y' },
  show: ({ person: { subject, tenant, role, mode }, csrf }) =>
    Promise.resolve({
      title: 'You',
      body: (
        <section data-passkeys={csrf} data-name={subject.replace(/^operator:/, '')}>
          <h1>You</h1>
          <Facts
            of={[
              ['Name', <Foreign text={subject} />],
              ['Tenant', tenant],
              ['Role', role],
              ['Signed in by', mode],
            ]}
          />
          <section hidden data-keys>
            <h2>Keys</h2>
            <label>
              <input type="checkbox" /> Single keys work in this browser: j, k, a, d and others; <kbd>?</kbd> lists them
            </label>
          </section>
          <h2>Passkeys</h2>
          {mode === 'operator-token' ? (
            <Passkeys />
          ) : (
            <p>Passkeys belong to operators who sign in with a token: who signs in this way has none.</p>
          )}
        </section>
      ),
    }),
};

const Passkeys = () => (
  <>
    <p>
      With a passkey you sign what you approve, on a device of your own, so that anybody can check later that it was
      you. Register one, and a second on another device in case the first is lost.
    </p>
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
    <pre hidden data-passkey-key aria-label="The public key of your passkey" />
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
