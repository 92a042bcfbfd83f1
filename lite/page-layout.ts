import { document, STYLE } from '../api/pages/html.js';
import type { Mode } from '../contracts/call.js';

export const loginForm = () => `
<form method="post" action="/login" class="login">
  <input type="text" name="username" autocomplete="username" value="operator" hidden>
  <label for="token">Decide token</label>
  <input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
  <button class="go">Sign in</button>
  <p class="dim"><code>npx gate lite link</code>, typed where the ledger lies, prints an address that signs you in. The token is that of
  <code>GATE_LITE_DECIDE_TOKEN</code> or <code>GATE_LITE_DECIDERS</code>, else the one in the file <code>.decide-token</code> beside the ledger.</p>
</form>`;

/** A whole page. After `refreshSecs` it reloads itself, without the outcome of a decision. */
export const layout = (
  mode: Mode,
  body: string,
  { refreshSecs, waiting = 0 }: { readonly refreshSecs?: number; readonly waiting?: number } = {},
): string =>
  document(
    `${waiting > 0 ? `(${waiting}) ` : ''}Gate lite`,
    refreshSecs === undefined ? '' : `<meta http-equiv="refresh" content="${refreshSecs};url=/">`,
    `<header><h1>Gate lite <small>${mode}</small></h1>${
      mode === 'observe'
        ? '<p class="notice wait">Observe mode: every call runs, and nothing waits for you. What would have been denied or parked is recorded (<code>npx gate report</code>).</p>'
        : ''
    }</header>${body}`,
  );

/** One line in its own frame, which reloads itself. */
export const line = (html: string, refreshSecs: number): string =>
  document(
    'What came since',
    `<meta http-equiv="refresh" content="${refreshSecs}">`,
    `<p class="fine">${html}</p>`,
    `${STYLE}body{padding:0;max-width:none}p{margin:0}`,
  );
