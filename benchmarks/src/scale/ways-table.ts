import { formatCount, formatNumber } from '../report/format-number.ts';
import { markdownTable } from '../report/markdown.ts';
import type { ScaleResults } from './scale-results.ts';

const UNKNOWN = 'not measured';

/** The table of docs/guide/which-way.md that has figures. What was not measured says so. */
export function renderWaysTable({ rows }: ScaleResults): string {
	const ways = rows.ways?.figure;
	const pod = rows['pod-memory']?.figure;
	const held = rows['held-queries']?.figure;
	const hop = rows['second-hop']?.figure;
	const podText =
		pod === undefined ? UNKNOWN : `${formatNumber(pod.socket.rssKb)} KB (TLS: ${formatNumber(pod.tls.rssKb)} KB)`;
	const base = ways === undefined ? UNKNOWN : `${formatNumber(ways.nodeSpock.rssMb)} MB`;
	const own =
		ways === undefined
			? UNKNOWN
			: `${formatNumber(ways.ownSidecar.rssMb)} MB (PSS ${formatNumber(ways.ownSidecar.pssMb)})`;
	const behind =
		ways === undefined
			? UNKNOWN
			: `${formatNumber(ways.sidecarBehindNode.rssMb)} MB (PSS ${formatNumber(ways.sidecarBehindNode.pssMb)})`;
	const app = ways === undefined ? UNKNOWN : `${formatNumber(ways.appHeapMb)} MB`;
	const direct = ways === undefined ? UNKNOWN : `${formatNumber(ways.directAppHeapMb)} MB`;
	const p99 = (name: 'beside' | 'apart'): string =>
		ways === undefined ? UNKNOWN : `${formatNumber(ways[name].p99Ms)} ms`;
	const [beside, apart] = [p99('beside'), p99('apart')];
	const perPod = (total: number): string => (held === undefined ? UNKNOWN : formatNumber(total / held.sidecars));
	const alone = held === undefined ? UNKNOWN : `${perPod(held.without.held)}, ${perPod(held.without.queriesAMinute)}`;
	const shared = held === undefined ? UNKNOWN : `${perPod(held.through.held)}, ${perPod(held.through.queriesAMinute)}`;
	const [one, two] =
		hop === undefined ? [UNKNOWN, UNKNOWN] : [hop.oneP50Ms, hop.twoP50Ms].map((ms) => `${formatNumber(ms)} ms`);
	const columns = ['', 'sidecar in each pod', 'one Spock for each node', 'both', 'none'].map((heading) => ({
		heading,
		align: 'left' as const,
	}));
	return [
		markdownTable(columns, [
			['memory of one more pod, outside its app', own, podText, `${behind}, and ${podText} at the node’s`, 'nothing'],
			['memory of one more node', 'nothing', base, base, 'nothing'],
			['growth of the app’s heap', app, app, app, direct],
			['held queries at Consul for a pod, and its requests a minute at rest', alone, shared, shared, alone],
			[
				'p99 of an app’s calls over the wire, while another app of the node makes calls as fast as it can',
				apart,
				beside,
				apart,
				'–',
			],
			['a change in Consul reaches the app, p50', one ?? UNKNOWN, one ?? UNKNOWN, two ?? UNKNOWN, UNKNOWN],
		]),
		measuredOn({ rows }),
	].join('\n\n');
}

function measuredOn({ rows }: Pick<ScaleResults, 'rows'>): string {
	const { ways, 'held-queries': held } = rows;
	const size = ways === undefined ? '' : `${ways.figure.services} services of ${ways.figure.instancesEach} instances`;
	const crowd =
		held === undefined
			? ''
			: `; what Consul has, of ${formatCount(held.figure.sidecars)} sidecars and ${held.figure.nodes} node Spocks`;
	return `Measured: ${size}${crowd} ([how](../performance/scale.md#how-each-row-was-measured)). PSS counts pages that processes share by their share.`;
}
