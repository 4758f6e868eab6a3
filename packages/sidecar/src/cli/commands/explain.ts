import type { CallOptions, Diplomat, KnownServiceQuery } from '@spock/client';
import type { ExplainReply, InstanceExplanation, WatcherStatus } from '@spock/protocol';
import { queryLabel } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';

import { type ViewFlags, viewOf } from '../client/client-view.ts';
import type { ClientFlags } from '../client/sidecar-target.ts';
import { withClient } from '../client/with-client.ts';
import { formatCount, formatDuration } from '../output/figures.ts';
import { print } from '../output/output.ts';
import { type Cell, type Look, lookOf, Page, type Piece, printPage, type Style, styled } from '../output/page.ts';
import { queryOf } from './ask.ts';
import { nextStep } from './next-step.ts';

const NAME_WIDTH = 'watchers'.length;

/** `sidecar explain SERVICE` */
export async function explain(service: string, flags: ClientFlags & ViewFlags): Promise<void> {
	const view = viewOf(flags);
	const command = async (client: Diplomat, options: CallOptions): Promise<void> => {
		const query = queryOf(service, flags);
		// Names are checked by types where there are any, which a command line has not.
		const asked = query as KnownServiceQuery;
		const reply = await (view ? client.explain(asked, options) : client.request('explain', query, options));
		if (flags.json) {
			print(JSON.stringify(reply));
			return;
		}
		const next = isUnknown(reply) ? await nextStep(client, query, options) : undefined;
		printPage(formatExplanation(reply, { wallNowMs: Date.now(), look: lookOf(process.stdout), next }));
	};
	await withClient(flags, command, view);
}

/** How an explanation is shown. */
export interface ExplanationContext {
	readonly wallNowMs: number;
	readonly look: Look;
	/** What to do where no instance is registered. */
	readonly next?: string | undefined;
}

/** A page for people, the most important line first. */
export function formatExplanation(reply: ExplainReply, { wallNowMs, look, next }: ExplanationContext): Page {
	const { instances, instanceCount = instances.length, changedAt, revision, held, panic, error, watchers } = reply;
	const page = new Page(look);
	page.line(styled('bold', nameOf(reply)), ': ', ...summaryOf(reply, next));
	const shown = `${instances.length} of ${instanceCount}: the others do not fit into a frame`;
	page.table(
		[
			...(instanceCount > instances.length ? [['shown', shown]] : []),
			['state', stateOf(reply, wallNowMs)],
			...pathOf(reply),
			...(changedAt === null ? [] : [['changed', `${ago(changedAt, wallNowMs)}, revision ${revision}`]]),
			...(held === null ? [] : [['held', styled('warning', heldOf(held))]]),
			...(panic ? [['panic', styled('warning', 'too few instances are healthy: all are served')]] : []),
			...(error === null ? [] : [['error', styled('bad', error)]]),
			['watchers', watchersOf(reply)],
			...pushedRows(watchers),
			...(watchers.some(({ oversize }) => oversize) ? [['too long', styled('warning', oversizeOf(reply))]] : []),
		],
		{ widths: [NAME_WIDTH] },
	);
	const titles = ['SERVED', 'INSTANCE', 'ADDRESS', 'WEIGHT', 'CHANGED', 'WHY'];
	addTable(
		page,
		titles,
		instances.map((instance) => rowOf(instance, wallNowMs)),
	);
	const { refused = [], refusedCount = refused.length } = reply;
	addTable(
		page,
		['LEFT OUT', 'WHY'],
		refused.map((one) => [one.instance, styled('bad', `it ${one.reason}`)]),
	);
	if (refusedCount > refused.length) page.line(`and ${refusedCount - refused.length} more`);
	addTable(page, ['INSTANCE', 'STATUS', 'CHECK', 'NAME'], checkRows(instances));
	return page;
}

/** With an empty line before it; nothing without a row. */
function addTable(page: Page, titles: readonly string[], rows: readonly (readonly Cell[])[]): void {
	if (rows.length > 0) page.line().table(rows, { titles });
}

function summaryOf({ instances, source }: ExplainReply, next: string | undefined): Piece[] {
	if (source === null) return [styled('bad', 'the registry has not answered for it')];
	if (next !== undefined) return [styled('bad', 'no instance is registered'), `; ${next}`];
	const served = instances.filter(({ included }) => included).length;
	const style: Style = served === 0 ? 'bad' : served < instances.length ? 'warning' : 'good';
	return [styled(style, `${served} of ${instances.length} instances get work`)];
}

/** True if the registry has answered, and has none: not while it is unheard. */
function isUnknown({ instances, instanceCount = instances.length, source, held, refusedCount }: ExplainReply): boolean {
	return instanceCount === 0 && source !== null && held === null && (refusedCount ?? 0) === 0;
}

function nameOf(reply: ExplainReply): string {
	return `${reply.service} ${queryLabel(reply)}`.trimEnd();
}

function stateOf({ state, source, verifiedAt }: ExplainReply, wallNowMs: number): Cell {
	if (source === null) return styled('bad', `${state}: nothing to serve`);
	const confirmed = verifiedAt === 0 ? '' : `, confirmed by the registry ${ago(verifiedAt, wallNowMs)}`;
	return [styled(state === 'fresh' ? 'good' : 'warning', `${state} (${source})`), confirmed];
}

function pathOf({ upstreams = [] }: ExplainReply): Cell[][] {
	return upstreams.length === 0 ? [] : [['asked', upstreams.map(({ address }) => address).join(', which asks ')]];
}

function heldOf({ forMs, endsInMs }: NonNullable<ExplainReply['held']>): string {
	const since = formatDuration(forMs);
	return `the registry has returned no instances for ${since}; believed in ${formatDuration(endsInMs)}`;
}

function watchersOf({ watchers, watcherCount }: ExplainReply): string {
	if (watcherCount === 0) return 'none';
	const more = watcherCount > watchers.length ? `, and ${watcherCount - watchers.length} more` : '';
	return `${watchers.map(formatWatcher).join(', ')}${more}`;
}

function formatWatcher({ connection, client, pid, oversize }: WatcherStatus): string {
	const process = pid === null ? '' : ` (pid ${pid})`;
	return `#${connection} ${client ?? 'unnamed'}${process}${oversize ? ' (too long for it)' : ''}`;
}

/** The changes that these watchers were pushed, together. Whole ones of a large service go to clients that know no deltas. */
function pushedRows(watchers: readonly WatcherStatus[]): Cell[][] {
	const all = watchers.flatMap(({ pushed }) => pushed ?? []);
	if (all.length === 0) return [];
	const sum = (form: 'whole' | 'delta' | 'parts'): number => all.reduce((count, pushed) => count + pushed[form], 0);
	const sizes = all.map(({ lastBytes }) => lastBytes);
	const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
	const last = least === most ? `${most} bytes` : `${least} to ${most} bytes`;
	return [
		['pushed', `${sum('whole')} whole, ${formatCount(sum('delta'), 'delta')}, ${sum('parts')} in parts; last ${last}`],
	];
}

function oversizeOf({ frameBytes }: ExplainReply): string {
	return `a frame of ${frameBytes} bytes: raise frameBytesMax, at the sidecar and at these clients`;
}

function rowOf(
	{ instance, host, port, included, weight, changedAt, reason, status }: InstanceExplanation,
	wallNowMs: number,
) {
	const changed = changedAt === null ? '' : ago(changedAt, wallNowMs);
	const served = included ? styled('good', 'yes') : styled('bad', 'no');
	const style: Style = !included ? 'bad' : 'warning';
	const why = included && status === 'passing' ? reason : styled(style, reason);
	return [served, instance, formatAddress({ host, port }), String(weight), changed, why];
}

function checkRows(instances: readonly InstanceExplanation[]): Cell[][] {
	return instances.flatMap(({ instance, checks }) =>
		checks.map(({ id, name, status }) => [instance, styled(checkStyle(status), status), id, name]),
	);
}

function checkStyle(status: string): Style {
	return status === 'passing' ? 'good' : status === 'warning' ? 'warning' : 'bad';
}

function ago(atMs: number, wallNowMs: number): string {
	return `${formatDuration(wallNowMs - atMs)} ago`;
}
