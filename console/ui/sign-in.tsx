import type { ComponentChildren } from 'preact';
import { Foreign, PasskeyKey } from './parts.js';

interface Refused {
  readonly refused?: string | undefined;
}

const SignIn = ({ refused, children }: Refused & { readonly children: ComponentChildren }) => (
  <section class="sign-in">
    <h1>Sign in</h1>
    {refused !== undefined && (
      <p class="notice bad" role="alert">
        {refused}
      </p>
    )}
    {children}
  </section>
);

/** `wanted` is the page that is opened afterwards. */
interface Wanting extends Refused {
  readonly wanted: string;
}

const Wanted = ({ wanted }: Pick<Wanting, 'wanted'>) => <input type="hidden" name="return_to" value={wanted} />;

/** `command` prints a link that signs in; `where` says in which folder it is typed. */
export const SignInByToken = ({
  refused,
  wanted,
  command,
  where,
}: Wanting & { readonly command: string; readonly where: string }) => (
  <SignIn refused={refused}>
    <p>
      <code>npx {command}</code> in the folder of {where} prints a link that signs you in. Or type the operator's token:
    </p>
    <form method="post" action="/login">
      <Wanted wanted={wanted} />
      <label for="token">Operator token</label>
      <input id="token" name="token" type="password" autocomplete="current-password" required />
      <button class="act" type="submit">
        Sign in
      </button>
    </form>
  </SignIn>
);

/** For who came by a link on a page of another site. */
export const SignInByLink = ({ link }: { readonly link: string }) => (
  <SignIn>
    <p>
      Another page led here with a link that signs you in, as whom it was made for. Go on only if you asked for it
      yourself.
    </p>
    <form method="get" action="/login">
      <input type="hidden" name="link" value={link} />
      <button class="act" type="submit">
        Sign in by the link
      </button>
    </form>
  </SignIn>
);

export const SignInByPassword = ({ refused, wanted }: Wanting) => (
  <SignIn refused={refused}>
    <form method="post" action="/auth/basic-login">
      <Wanted wanted={wanted} />
      <label for="name">Name</label>
      <input id="name" name="name" autocomplete="username" required />
      <label for="password">Password</label>
      <input id="password" name="password" type="password" autocomplete="current-password" required />
      <button class="act" type="submit">
        Sign in
      </button>
    </form>
  </SignIn>
);

export const SignInByCertificate = ({ refused, wanted }: Wanting) => (
  <SignIn refused={refused}>
    <p>
      You sign in with the certificate that your browser shows here. To choose another one, close the browser first.
    </p>
    <form method="post" action="/auth/certificate">
      <Wanted wanted={wanted} />
      <button class="act" type="submit">
        Sign in
      </button>
    </form>
  </SignIn>
);

const NeedsScripts = () => (
  <noscript>
    <p class="notice bad">A passkey needs scripts: they are off in this browser.</p>
  </noscript>
);

export const SignInByPasskey = ({ refused, wanted }: Wanting) => (
  <SignIn refused={refused}>
    <NeedsScripts />
    <form method="post" action="/login" data-passkey-enter>
      <Wanted wanted={wanted} />
      <label for="name">Name</label>
      <input id="name" name="name" autocomplete="username webauthn" pattern="[a-z0-9._\-]{1,63}" required />
      <button class="act" type="submit">
        Sign in with your passkey
      </button>
      <p role="alert" data-passkey-said />
    </form>
    <p>
      Invited, or given a token because yours was lost? <a href="/register">Register a passkey</a>.
    </p>
  </SignIn>
);

/** The token comes in the fragment of a link, which no server sees, or is typed. */
export const RegisterPasskey = () => (
  <section class="sign-in">
    <h1>Register a passkey</h1>
    <p>It is kept by your device and signs you in here. The token holds once.</p>
    <NeedsScripts />
    <form method="post" action="/register" data-passkey-begin>
      <label for="name">Name</label>
      <input id="name" name="name" autocomplete="username" pattern="[a-z0-9._\-]{1,63}" required />
      <label for="token">Token</label>
      <input id="token" name="token" autocomplete="off" required />
      <button class="act" type="submit">
        Register
      </button>
      <p role="alert" data-passkey-said />
    </form>
    <p role="status" data-passkey-done />
    <PasskeyKey />
    <p>
      <a href="/login">Sign in</a>
    </p>
  </section>
);

/** `issuer` is where the browser goes. `as`: whom the provider named, who was refused, and which page was wanted. */
export const SignInByProvider = ({
  refused,
  issuer,
  start,
  as,
}: Refused & {
  readonly issuer: string;
  readonly start: string;
  readonly as?: { readonly name: string; readonly returnTo: string } | null;
}) => {
  const wanted = as ? { return_to: as.returnTo } : {};
  // The provider's own session would bring the same person back, without a question.
  const another = `${start}?${new URLSearchParams({ another: '1', ...wanted }).toString()}`;
  if (as)
    return (
      <SignIn refused={refused}>
        <p>
          <code>{issuer}</code> says that you are <Foreign text={as.name} />.
        </p>
        <p class="actions">
          <a class="button act" href={another}>
            Sign in as somebody else
          </a>{' '}
          <a class="button" href={`${start}?${new URLSearchParams(wanted).toString()}`}>
            Try again
          </a>
        </p>
      </SignIn>
    );
  return (
    <SignIn refused={refused}>
      <p>
        Your organisation's sign-in is at <code>{issuer}</code>.
      </p>
      <p class="actions">
        <a class="button act" href={start}>
          Sign in there
        </a>{' '}
        <a class="button" href={another}>
          Sign in as somebody else
        </a>
      </p>
    </SignIn>
  );
};
