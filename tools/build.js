// `npm run build`: installs what is missing and builds every package.
import { ensureBuilt, ensureInstalled } from './prepare.js';

ensureInstalled();
ensureBuilt();
