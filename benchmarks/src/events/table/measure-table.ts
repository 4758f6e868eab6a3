import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { freePort } from '../../free-port.ts';
import { busySeconds } from '../../load/others-share.ts';
import { processorTimeUs } from '../../load/processor-time.ts';
import { LoadClient, type ServerProcess, startAnnouncedServer } from '../../processes.ts';
import type { OwnTools } from '../../toolbox.ts';
import { MetricsData } from '../model/metrics-data.ts';
import { SlowLink } from '../model/slow-link.ts';
import type { AppReport, AppWork } from './app-work.ts';
import { bytesInOneContext, CODEC, pack } from './packing.ts';
import { startSidecar } from './sidecars.ts';
import type { StorePlace } from './store-place.ts';
import {
	type DataRatios,
	PARTS,
	type Part,
	type PartId,
	type RowFigure,
	type RowId,
	type RowRound,
} from './table-results.ts';

/** What a run of the table is. */
export interface TableRun {
	readonly tools: OwnTools;
	readonly say: (line: string) => void;
	readonly bytes: number;
	readonly rounds: number;
	readonly parts: readonly PartId[];
}

const MIB = 2 ** 20;
const SAMPLE_BYTES = 8 * MIB;
/** A row that has not ended by then is a failure of the bench, which must not hang. */
const ROW_MS_MAX = 1_200_000;

/** All rows of all parts; rounds of a part take turns. */
export async function measureTable(run: TableRun): Promise<readonly RowFigure[]> {
	const figures: RowFigure[] = [];
	for (const part of run.parts) {
		const { rows } = PARTS[part];
		const rounds = new Map<RowId, RowRound[]>(rows.map((row) => [row, []]));
		for (let round = 0; round < run.rounds; round++) {
			for (const row of rows) {
				const taken = await measureRow(run, PARTS[part], row, round);
				rounds.get(row)?.push(taken);
				const speed = (taken.bytes / 1e6 / taken.seconds).toFixed(1);
				run.say(`${part}, ${row}: ${speed} MB/s, others used ${Math.round(taken.othersShare * 100)} % of the machine`);
			}
		}
		for (const [row, taken] of rounds) figures.push({ part, row, rounds: taken });
	}
	return figures;
}

async function measureRow(run: TableRun, part: Part, row: RowId, round: number): Promise<RowRound> {
	const { tools } = run;
	const { syncMs } = part;
	const disk = mkdtempSync(join(tools.directory, 'log-'));
	const storeDisk = syncMs === undefined ? mkdtempSync(join(tools.directory, 'store-')) : inMemory(tools);
	const ends: (() => Promise<void>)[] = [];
	try {
		const isEvents = row.startsWith('events');
		const isPacked = row.endsWith('packed');
		const place: StorePlace = {
			kind: isEvents ? 'sidecar' : 'grpc',
			...(syncMs !== undefined && { syncMs }),
			directory: storeDisk,
			port: await freePort(),
		};
		const store = await startAnnouncedServer([tools.node, tools.entry('events-store'), JSON.stringify(place)]);
		ends.push(() => store.close());
		// Where nothing is limited it would only cost processor time.
		const link = part.bytesPerSecond === undefined ? undefined : await SlowLink.open(place.port, part.bytesPerSecond);
		if (link !== undefined) ends.push(() => link[Symbol.asyncDispose]());
		let sidecar: ServerProcess | undefined;
		let address = `127.0.0.1:${link?.port ?? place.port}`;
		if (isEvents) {
			sidecar = startSidecar(tools, { log: join(disk, 'log'), settings: relayTo(address, isPacked) });
			const { close } = sidecar;
			ends.push(close);
			address = sidecar.address;
		}
		const app = await LoadClient.start([tools.node, tools.entry('events-app')]);
		ends.push(() => app.close());
		const work: AppWork = {
			row: isEvents ? 'events' : row === 'unary' ? 'unary' : 'stream',
			address,
			isPacked,
			bytes: Math.round(run.bytes * part.share),
			seed: round + 1,
		};
		await app.ask(work, ROW_MS_MAX);
		const pids = { app: app.pid, store: store.pid, ...(sidecar && { sidecar: sidecar.pid }), link: process.pid };
		const before = { bytes: link?.bytes ?? 0, ...processorSeconds(pids) };
		const report = (await app.ask('go', ROW_MS_MAX)) as AppReport;
		const after = { bytes: link?.bytes ?? 0, ...processorSeconds(pids) };
		const cpuSeconds = Object.fromEntries(
			after.of.map(([name, used], index) => [name, used - (before.of[index]?.[1] ?? 0)]),
		);
		const ours = Object.values(cpuSeconds).reduce((sum, used) => sum + used, 0);
		const others = (after.machine - before.machine - ours) / (report.seconds * availableParallelism());
		return {
			...report,
			linkBytes: link === undefined ? null : after.bytes - before.bytes,
			cpuSeconds,
			othersShare: Math.max(0, others),
		};
	} finally {
		for (const end of ends.reverse()) await end();
		for (const directory of [storeDisk, disk]) rmSync(directory, { recursive: true, force: true });
	}
}

/** Seconds of processors that processes have used, and all of the machine. */
function processorSeconds(pids: Readonly<Record<string, number>>): {
	readonly of: readonly (readonly [name: string, seconds: number])[];
	readonly machine: number;
} {
	const of = Object.entries(pids).map(([name, pid]) => [name, processorTimeUs(pid) / 1e6] as const);
	return { of, machine: busySeconds() };
}

/** The settings of a sidecar whose store is another one. */
function relayTo(address: string, isPacked: boolean): readonly string[] {
	const compression = isPacked ? 'auto' : 'none';
	return ['--events-store', 'relay', '--events-relay-address', address, '--events-relay-compression', compression];
}

/** A directory in memory, where the machine has such a place: the disk of the store is modelled. */
function inMemory({ directory }: OwnTools): string {
	try {
		return mkdtempSync('/dev/shm/spock-bench-');
	} catch {
		mkdirSync(directory, { recursive: true });
		return mkdtempSync(join(directory, 'store-'));
	}
}

/** How much of the data's size compression takes, by message and across messages. */
export async function measureRatios(): Promise<DataRatios> {
	const messages = new MetricsData(1).messages(SAMPLE_BYTES).map((text) => Buffer.from(text));
	const bytes = messages.reduce((sum, { length }) => sum + length, 0);
	const packed = messages.reduce((sum, message) => sum + pack(message).length, 0);
	return { codec: CODEC, byMessage: bytes / packed, inOneContext: bytes / (await bytesInOneContext(messages)) };
}
