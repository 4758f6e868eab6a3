import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { LoadClient } from '../../processes.ts';
import { resultOrigin } from '../../result-file.ts';
import { type OwnTools, packageVersions } from '../../toolbox.ts';
import { FlowApp, FlowBook } from './flow-app.ts';
import type { PeerCommand, PeerSpeed } from './peer-command.ts';
import {
	type KillFigure,
	type KillTarget,
	PEERS,
	type PeerFigure,
	type PeerId,
	type PeersResults,
} from './peers-results.ts';
import type { SenderPlace } from './sender.ts';
import { openSite, type Site } from './sites.ts';
import { tally } from './tally.ts';

/** What a run of the peers is. */
export interface PeersRun {
	readonly tools: OwnTools;
	readonly say: (line: string) => void;
	readonly quick: boolean;
	/** Of each target of each peer. */
	readonly kills: number;
}

/** How long a flow runs before something is killed, in milliseconds: this, and up to as much again. */
const FLOW_MS_MIN = 150;
const MEASURE_MS_MAX = 120_000;

/** All peers: how quick each is, and what it loses. */
export async function measurePeers(run: PeersRun): Promise<PeersResults> {
	const versions = { ...packageVersions(['@grpc/grpc-js']), '@nats-io/jetstream': natsVersion() };
	const figures: PeerFigure[] = [];
	for (const peer of Object.keys(PEERS) as PeerId[]) {
		const speed = await withSite(run, peer, (site) => measureSpeed(run, { peer, address: site.address }));
		const kills: KillFigure[] = [];
		for (const target of PEERS[peer].targets) {
			const figure = await withSite(run, peer, (site) => killLoop(run, site, peer, target));
			kills.push(figure);
			run.say(`${peer}, ${target} killed ${figure.kills} times: ${JSON.stringify(figure)}`);
		}
		figures.push({ peer, ...speed, kills });
	}
	const { commit, node, takenAt } = resultOrigin(run.tools.nodeVersion, run.quick);
	return { takenAt, commit, node, versions, figures };
}

/** Its manifest is not among its exports. */
function natsVersion(): string {
	const entry = createRequire(import.meta.url).resolve('@nats-io/jetstream');
	return (JSON.parse(readFileSync(join(dirname(entry), '../package.json'), 'utf8')) as { version: string }).version;
}

async function withSite<T>(run: PeersRun, peer: PeerId, use: (site: Site) => Promise<T>): Promise<T> {
	const directory = mkdtempSync(join(run.tools.directory, `${peer}-`));
	const site = await openSite(run.tools, peer, directory);
	try {
		return await use(site);
	} finally {
		await site.close();
		rmSync(directory, { recursive: true, force: true });
	}
}

async function measureSpeed({ tools, quick }: PeersRun, place: SenderPlace): Promise<PeerSpeed> {
	const app = await LoadClient.start([tools.node, tools.entry('events-peer'), JSON.stringify(place)]);
	try {
		const command: PeerCommand = quick
			? { kind: 'measure', calls: 200, throughputMs: 500 }
			: { kind: 'measure', calls: 2000, throughputMs: 3000 };
		return (await app.ask(command, MEASURE_MS_MAX)) as PeerSpeed;
	} finally {
		await app.close();
	}
}

/** Kills one of a peer's processes again and again under a flow of events, and looks what the store has then. */
async function killLoop(run: PeersRun, site: Site, peer: PeerId, target: KillTarget): Promise<KillFigure> {
	const book = new FlowBook();
	const place = { peer, address: site.address };
	let app = await FlowApp.start(run.tools, place, book);
	for (let kill = 0; kill < run.kills; kill++) {
		await delay(FLOW_MS_MIN * (1 + Math.random()));
		if (target === 'app') {
			await app.kill();
			app = await FlowApp.start(run.tools, place, book);
		} else {
			await site.kill(target);
			await app.progress();
		}
	}
	await app.stop();
	return { target, kills: run.kills, ...tally(book, await site.read()) };
}
