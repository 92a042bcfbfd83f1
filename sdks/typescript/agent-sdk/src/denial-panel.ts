import type { GateDenied } from './errors.js';
import { quoted } from './http.js';

/** A denial as a developer reads it in a terminal. Every text of it came over the network and is printed on one line. */
export function denialPanel(denied: GateDenied): string {
  const rows: [string, string | undefined][] = [
    ['tool', denied.toolName],
    ['code', denied.code],
    ['layer', denied.layer],
    ['intent', denied.intentCategory],
    ['call', denied.correlationId],
    ...denied.reasons.map((reason): [string, string] => ['reason', reason]),
    ['allowed', denied.advice?.allowed],
    ...(denied.detail?.detectors ?? []).map(({ detector, score, flagged }): [string, string] => [
      'detector',
      `${detector} ${score}${flagged ? ' flagged' : ''}`,
    ]),
    ...(denied.detail?.degraded ?? []).map((lane): [string, string] => ['not asked', lane]),
  ];
  const lines = rows.flatMap(([name, text]) =>
    text === undefined || text === '' ? [] : [`  ${name.padEnd(10)} ${quoted(text)}`],
  );
  if (denied.detail === undefined)
    lines.push('  what each detector said is told by a Gate with GATE_PROXY_VERBOSE_VERDICTS');
  return ['gate denied a call', ...lines].join('\n');
}
