// The console before the whole product in a browser: one stack and one browser for all parts.
import './console/audit.js';
import './console/queue.js';
import './console/policies.js';
import './console/stops.js';
import './console/at-once.js';
