import { connect } from '@spock/client';
import {
	findConsul,
	type RunningProcess,
	SteadyCalls,
	startConsul,
	startSidecar,
	TcpGate,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { expect, it } from 'vitest';

it('an app that moves to the next Spock of its node stays registered, and never becomes critical', async () => {
	await using consul = await startConsul({ binary: findConsul(process.env), mode: 'server' });
	await using place = await tempSocket();
	const start = (name: string): Promise<RunningProcess> => {
		const settings = ['--listen', '127.0.0.1:0', '--owner', 'the-node', '--log-format', 'json'];
		return startSidecar(`${place.directory}/${name}.sock`, [...settings, '--consul', consul.url]);
	};
	const portOf = async ({ stdout }: RunningProcess): Promise<number> =>
		Number(await waitFor('the port', () => /"127\.0\.0\.1:(\d+)"/.exec(stdout())?.[1]));
	await using first = await start('first');
	await using service = await TcpGate.open(await portOf(first));
	const app = await connect({ host: '127.0.0.1', port: Number(new URL(service.url).port) });
	const registration = await app.register({ service: 'till', id: 'till-1', host: '10.0.0.2', port: 80 });

	await using next = await start('next');
	await using states = new SteadyCalls(async () => {
		const answer = await fetch(`${consul.url}/v1/health/checks/till`);
		const checks = (await answer.json()) as readonly { readonly Status: string; readonly ServiceID: string }[];
		return checks.map(({ Status, ServiceID }) => `${ServiceID} ${Status}`).join();
	});
	const seen = (): string[] => [...new Set(states.calls.map(({ value = 'no answer' }) => value))];
	service.leadTo(await portOf(next));
	expect((await first.stop()).exitCode).toBe(0);
	await app.ping();
	// Written by the next one: what the first one has done at its end is seen before.
	await registration.report('warning');
	await waitFor('the report', () => seen().includes('till-1 warning'));
	expect(seen()).toEqual(['till-1 passing', 'till-1 warning']);

	await app.close();
});
