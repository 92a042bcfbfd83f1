import { listenerSettings } from './listener.js';

export const SANDBOX_SETTINGS = listenerSettings('GATE_SANDBOX', 'the sandbox', { port: 8087, healthPort: 9087 });
