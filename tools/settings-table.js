// Writes every setting, from the code, into docs/reference/settings.md. With --check it changes nothing, and fails where the page differs.
import { updateDocs } from './docs-section.js';
import { loadSource } from './load-source.js';
import { root } from './prepare.js';

const { settingsSection } = await loadSource(`export { settingsSection } from './tools/settings/settings-section.ts';`);
updateDocs('settings', settingsSection(root), 'docs/reference/settings.md', 'npm run tables settings');
