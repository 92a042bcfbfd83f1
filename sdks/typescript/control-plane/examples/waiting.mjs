/** What waits for a person, and every change of it as it comes. `GATE_LITE_URL` and `GATE_LITE_DECIDE_TOKEN` say where and as whom; `npx gate lite` is such a place. */
import { connect } from '@gate/control-plane';

const hil = connect('hil', {
  url: process.env.GATE_LITE_URL ?? 'http://127.0.0.1:8088',
  token: process.env.GATE_LITE_DECIDE_TOKEN,
});
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());

for await (const { event, data } of hil.events('/pending/stream', { signal: stop.signal })) {
  if (event === 'open' || event === 'reset') {
    for await (const { id, tool, risk_summary } of hil.each('/pending/summaries', { query: { sort: 'oldest' } }))
      console.log('waits', id, tool, risk_summary);
    continue;
  }
  const { type, pending } = JSON.parse(data);
  console.log(type, pending.id, pending.tool, pending.status);
}
