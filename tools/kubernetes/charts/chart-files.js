// The files of k8s/charts that are made of the components of k8s/.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { stringify } from 'yaml';

import { nodeComponents, sidecarComponents } from './chart-components.js';
import { nodeValues, sidecarValues, valuesFile, valuesSchema } from './chart-values.js';

const MADE = 'Made by `npm run manifests -- --write` of k8s/components: change those.';

/** The texts of the files by their paths. */
export function chartFiles(directory, tools) {
	const charts = join(directory, 'charts');
	const library = readFileSync(join(charts, 'spock/templates/_spock.tpl'), 'utf8');
	const sidecar = sidecarComponents(directory, tools);
	const node = nodeComponents(directory, tools);
	// Both may be parts of one chart, perhaps of different versions: a name that is defined twice is the later one for both.
	const libraryOfNode = library
		.slice(0, library.indexOf('{{- /* What an app'))
		.replaceAll('"spock.', '"spock-node.')
		.trimEnd();
	return new Map([
		[join(charts, 'spock/templates/_components.tpl'), definition('spock.components', sidecar)],
		...valueFiles(
			join(charts, 'spock'),
			sidecarValues(sidecar),
			"Spock beside an app: in the app's chart under `spock`",
		),
		[
			join(charts, 'spock-node/templates/_spock.tpl'),
			`{{- /* ${MADE.replace('components', 'charts/spock')} */ -}}\n${libraryOfNode}\n`,
		],
		[
			join(charts, 'spock-node/templates/_components.tpl'),
			definition('spock-node.components', node.components) + definition('spock-node.objects', node.objects),
		],
		...valueFiles(join(charts, 'spock-node'), nodeValues(node), 'One Spock for each node'),
	]);
}

function definition(name, value) {
	const text = stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
	if (text.includes('{{')) throw new Error(`${name} has {{ in it, which Helm would take for its own`);
	return `{{- /* ${MADE} */ -}}\n{{- define "${name}" -}}\n${text}{{- end -}}\n`;
}

function valueFiles(chart, rows, head) {
	return [
		[join(chart, 'values.yaml'), valuesFile(rows, `${head}. ${MADE}`)],
		[join(chart, 'values.schema.json'), valuesSchema(rows, head)],
	];
}
