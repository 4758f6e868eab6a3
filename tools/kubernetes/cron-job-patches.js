// The patches of the components for CronJobs, whose pods stand four levels deeper than those of every other kind. They are made of the
// patches for those, so that the sidecar is written down once.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parse } from 'yaml';

const PATCH = 'cron-job.yaml';

/** The text of each component's patch for CronJobs, by its path, out of the one for Jobs. Throws an Error where that is missing. */
export function cronJobPatches(directory) {
	const components = join(directory, 'components');
	const patches = new Map();
	for (const name of readdirSync(components)) {
		const { patches: own = [] } = parse(readFileSync(join(components, name, 'kustomization.yaml'), 'utf8'));
		if (!own.some(({ path }) => path === PATCH)) continue;
		const source = own.find(
			({ path, target }) => path !== undefined && path !== PATCH && target.kind.split('|').includes('Job'),
		)?.path;
		if (source === undefined || !existsSync(join(components, name, source)))
			throw new Error(`components/${name} patches CronJobs and no Jobs`);
		patches.set(
			join(components, name, PATCH),
			cronJobPatch(readFileSync(join(components, name, source), 'utf8'), source),
		);
	}
	return patches;
}

/** With the comments, which a parser would lose. */
function cronJobPatch(text, source) {
	const [head, template] = text.split(/^spec:\n/m);
	return `# Made by \`npm run manifests -- --write\` of ${source}: change that.
apiVersion: batch/v1
kind: CronJob
${head.slice(head.search(/^metadata:/m))}spec:
  jobTemplate:
    spec:
${template.replace(/^(?=.)/gm, '    ')}`;
}
