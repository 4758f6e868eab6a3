import { serveSpock } from '../contenders.ts';
import type { LoadReport } from '../load/load.ts';
import { peakResidentMb } from '../load/processor-time.ts';
import { median } from '../load/samples.ts';
import { LoadClient } from '../processes.ts';
import type { InFlightFigure } from '../results.ts';
import type { Run } from '../run.ts';

/** One connection, and ever more calls at once on it. New processes for each number: peaks of memory do not go down. */
export async function measureInFlight(run: Run): Promise<InFlightFigure[]> {
	const figures: InFlightFigure[] = [];
	for (const inFlight of run.quick ? [1, 1024] : [1, 10, 100, 1024, 10_000, 100_000]) {
		figures.push(await measureOne(run, inFlight));
	}
	run.say(`in flight: ${figures.map((figure) => figure.inFlight).join(', ')}`);
	return figures;
}

async function measureOne({ tools, quick }: Run, inFlight: number): Promise<InFlightFigure> {
	const server = await serveSpock(tools, `wide-${inFlight}`, ['--in-flight-max', '131072']);
	const command = [tools.node, tools.entry('load-client'), 'spock-wide', server.address, String(server.pid)];
	const client = await LoadClient.start(command);
	try {
		const reports: LoadReport[] = [];
		for (let round = 0; round < (quick ? 2 : 5); round++) {
			// A round of a hundred thousand calls takes a tenth of a second: the window must hold several.
			const window = { durationMs: inFlight > 5000 ? 1500 : 500, warmupMs: inFlight > 5000 ? 700 : 200 };
			reports.push(await client.run({ kind: 'closed', inFlight, sampleEvery: inFlight === 1 ? 1 : 7, ...window }));
		}
		return {
			inFlight,
			callsPerSecond: median(reports.map(({ calls, elapsedMs }) => (calls / elapsedMs) * 1000)),
			p50Us: median(reports.map(({ p50Us }) => p50Us)),
			p99Us: median(reports.map(({ p99Us }) => p99Us)),
			errors: reports.reduce((sum, { errors }) => sum + errors, 0),
			clientRssMb: peakResidentMb(client.pid),
			serverRssMb: peakResidentMb(server.pid),
		};
	} finally {
		await client.close();
		await server.close();
	}
}
