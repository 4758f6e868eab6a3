// `npm run build`: installs what is missing and builds every package, with its types.
import { ensureBuilt, ensureInstalled, say } from './prepare.js';

ensureInstalled();
const built = ensureBuilt();
say(built ? 'built.' : 'nothing to build: no source has changed since the last build.');
