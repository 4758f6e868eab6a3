import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { findNats } from '@spock/testkit/real-nats';

import { watchOthers } from '../../load/others-share.ts';
import { median } from '../../load/samples.ts';
import { LoadClient } from '../../processes.ts';
import { resultOrigin } from '../../result-file.ts';
import { type OwnTools, packageVersions } from '../../toolbox.ts';
import { FlowApp, FlowBook } from './flow-app.ts';
import type { PeerCommand, PeerSpeed } from './peer-command.ts';
import { type PeerPrograms, peersWithout } from './peer-programs.ts';
import {
	type KillFigure,
	type KillTarget,
	PEERS,
	type PeerFigure,
	type PeerId,
	type PeersResults,
} from './peers-results.ts';
import type { SenderPlace } from './sender.ts';
import type { Site } from './site.ts';
import { openSite } from './sites.ts';
import { tally } from './tally.ts';

/** What a run of the peers is. */
export interface PeersRun {
	readonly tools: OwnTools;
	readonly programs: PeerPrograms;
	readonly say: (line: string) => void;
	readonly quick: boolean;
	readonly peers: readonly PeerId[];
	/** Of how quick each is. */
	readonly rounds: number;
	/** Of each target of each peer. */
	readonly kills: number;
}

/** How long a flow runs before something is killed, in milliseconds: this, and up to as much again. */
const FLOW_MS_MIN = 150;
const MEASURE_MS_MAX = 120_000;

type PeerRound = Omit<PeerFigure, 'peer' | 'kills'>;

/** How quick each peer is, in rounds that take turns, and then what each loses. */
export async function measurePeers(run: PeersRun): Promise<PeersResults> {
	const leftOut = peersWithout(run.programs, run.peers);
	for (const { peer, why } of leftOut) run.say(`${peer} is left out: ${why}`);
	const peers = run.peers.filter((peer) => leftOut.every((left) => left.peer !== peer));
	const rounds = new Map<PeerId, PeerRound[]>(peers.map((peer) => [peer, []]));
	for (let round = 0; round < run.rounds; round++) {
		for (const [peer, taken] of rounds) {
			const speed = await withSite(run, peer, (site) => measureSpeed(run, { peer, address: site.address }));
			taken.push(speed);
			run.say(`${peer}: ${JSON.stringify(speed)}`);
		}
	}
	const figures: PeerFigure[] = [];
	for (const [peer, taken] of rounds) {
		const kills: KillFigure[] = [];
		for (const target of PEERS[peer].targets) {
			const figure = await withSite(run, peer, (site) => killLoop(run, site, peer, target));
			kills.push(figure);
			run.say(`${peer}, ${target} killed ${figure.kills} times: ${JSON.stringify(figure)}`);
		}
		figures.push({ peer, ...mediansOf(taken), kills });
	}
	const { commit, node, takenAt } = resultOrigin(run.tools.nodeVersion, run.quick);
	return { takenAt, commit, node, rounds: run.rounds, versions: versionsOf(run.programs), figures, leftOut };
}

/** Of what was measured, by name; and of the servers, as they say it. */
function versionsOf({ kafka, dapr }: PeerPrograms): Record<string, string> {
	const versions = {
		...packageVersions(['@grpc/grpc-js']),
		...ownVersion('@nats-io/jetstream'),
		'nats-server': answerOf(findNats(process.env)),
	};
	return {
		...versions,
		...('path' in dapr && { daprd: answerOf(dapr.path) }),
		...('path' in kafka && { ...ownVersion('@platformatic/kafka'), kfake: answerOf(kafka.path) }),
	};
}

/** Of packages whose manifest is not among their exports. */
function ownVersion(name: string): Record<string, string> {
	const entry = createRequire(import.meta.url).resolve(name);
	const manifest = readFileSync(join(dirname(entry), '../package.json'), 'utf8');
	return { [name]: (JSON.parse(manifest) as { version: string }).version };
}

function answerOf(program: string): string {
	const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
	return /\d+\.\d+\.\S+/.exec(stdout)?.[0] ?? 'unknown';
}

function mediansOf(rounds: readonly PeerRound[]): PeerRound {
	const of = (pick: (round: PeerRound) => number): number => median(rounds.map(pick));
	return {
		p50Us: of(({ p50Us }) => p50Us),
		p99Us: of(({ p99Us }) => p99Us),
		eventsPerSecond: of(({ eventsPerSecond }) => eventsPerSecond),
		othersShare: of(({ othersShare }) => othersShare),
	};
}

async function withSite<T>(run: PeersRun, peer: PeerId, use: (site: Site) => Promise<T>): Promise<T> {
	const directory = mkdtempSync(join(run.tools.directory, `${peer}-`));
	const site = await openSite(peer, { ...run, directory });
	try {
		return await use(site);
	} finally {
		await site.close();
		rmSync(directory, { recursive: true, force: true });
	}
}

async function measureSpeed({ tools, quick }: PeersRun, place: SenderPlace): Promise<PeerRound> {
	const app = await LoadClient.start([tools.node, tools.entry('events-peer'), JSON.stringify(place)]);
	try {
		const command: PeerCommand = quick
			? { kind: 'measure', calls: 200, throughputMs: 500 }
			: { kind: 'measure', calls: 2000, throughputMs: 3000 };
		const othersShare = watchOthers();
		const speed = (await app.ask(command, MEASURE_MS_MAX)) as PeerSpeed;
		return { ...speed, othersShare: othersShare() };
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
