import { waitFor } from '@spock/testkit';

import type { LookupAppLine, LookupAppSettings, LookupTally, SharedSpock } from '../src/lookup-app-messages.ts';
import type { ContainerEvent } from '../src/machine/container-events.ts';
import type { PodMachine, PodRecord } from '../src/machine/pod-machine.ts';
import type { Container, Pod } from '../src/pod.ts';
import { type PodStory, reportStory } from '../src/pod-report.ts';
import { type Manifest, staticPod, workloadTemplate } from '../src/static-pod.ts';

/** The service that the apps look up, and where it is. */
export const SERVICE: string = 'barista';
export const ADDRESS: string = '10.0.0.1:8765';

/** Longer than any wait of the kubelet: it backs off for 10 s, and a pod may take its whole grace period to end. */
const WAIT_MS = 90_000;

/** What a pod is to be, otherwise than its manifest says. */
export interface RunningPodOptions {
	readonly title: string;
	readonly name: string;
	/** Default `leaves`. */
	readonly manner?: LookupAppSettings['manner'];
	/** Default 0. */
	readonly leavesAfterMs?: number;
	readonly isJob?: boolean;
	/** A Spock that it asks in place of a sidecar of its own, and registers with by its own name. */
	readonly shared?: SharedSpock;
	/** What its sidecar's container has otherwise, and more environment for it. */
	readonly sidecar?: Partial<Container>;
}

/** As the kubelet's log has it. */
export type ProbeKind = 'Startup' | 'Readiness' | 'Liveness';

/** A pod of the manifests under the kubelet, and what has happened in it. */
export class RunningPod {
	readonly record: PodRecord;
	readonly #machine: PodMachine;
	readonly #options: RunningPodOptions;
	readonly #placedAtMs = Date.now();
	readonly #events: { readonly atMs: number; readonly what: string }[] = [];

	private constructor(machine: PodMachine, options: RunningPodOptions) {
		this.#machine = machine;
		this.#options = options;
		this.record = machine.record(options.name);
	}

	/** Has it run; resolves when its app has had its first answer. */
	static async start(
		machine: PodMachine,
		manifests: readonly Manifest[],
		options: RunningPodOptions,
	): Promise<RunningPod> {
		const running = await RunningPod.place(machine, manifests, options);
		await running.firstLookup();
		return running;
	}

	/** Has the kubelet take it. */
	static async place(
		machine: PodMachine,
		manifests: readonly Manifest[],
		options: RunningPodOptions,
	): Promise<RunningPod> {
		const { name, manner = 'leaves', leavesAfterMs = 0, isJob = false, sidecar, shared } = options;
		const app = { service: SERVICE, manner, leavesAfterMs, ...(shared && { shared, registers: name }) };
		const pod = staticPod(workloadTemplate(manifests), {
			name,
			app,
			appPlace: machine.appPlace,
			isJob,
			...(sidecar !== undefined && { sidecar }),
		});
		const running = new RunningPod(machine, options);
		running.note('the pod is placed', Date.now());
		await machine.kubelet.place(pod);
		return running;
	}

	/** Waits for the app's first answer. Rejects at once when a container has ended before. */
	firstLookup(): Promise<LookupAppLine> {
		const { name } = this.#options;
		return this.#wait(`the first lookup in ${name}`, () => {
			const early = this.record.containers.find(({ kind }) => kind === 'exit');
			if (early !== undefined) throw new Error(`${early.container} of ${name} ended, exit code ${early.exitCode}`);
			return this.record.app.find(({ event }) => event === 'first lookup');
		});
	}

	/** How many probes of its kind have failed, by the kubelet's log, with this in what they found. */
	probesFailed(kind: ProbeKind, finding = ''): number {
		const { name } = this.#options;
		const lines = this.#machine.kubelet.log().split('\n');
		return lines.filter(
			(line) =>
				line.includes('Probe failed') &&
				line.includes(`probeType="${kind}"`) &&
				line.includes(`/${name}-`) &&
				line.includes(finding),
		).length;
	}

	/** Waits until so many have. */
	async probesFail(times: number, kind: ProbeKind, finding = ''): Promise<void> {
		const what = `${kind} probes of ${this.#options.name} to fail ${times} times`;
		await this.#wait(what, () => this.probesFailed(kind, finding) >= times);
	}

	/** Has it end. */
	async remove(): Promise<void> {
		this.note('the pod is taken away', Date.now());
		await this.#machine.kubelet.remove(this.#options.name);
	}

	/** An event of the story that is nobody else's to tell. */
	note(what: string, atMs: number): void {
		this.#events.push({ atMs, what });
	}

	/** As the kubelet has it. */
	pod(): Promise<Pod | undefined> {
		return this.#machine.pod(this.#options.name);
	}

	/** The line with the event, the one after so many others of the same. */
	appSays(event: LookupAppLine['event'], others = 0): Promise<LookupAppLine> {
		const { name } = this.#options;
		return this.#wait(
			`the app of ${name} to say ${event}`,
			() => this.record.app.filter((one) => one.event === event)[others],
		);
	}

	/** A start or an end of a container, the one after so many others. */
	container(name: string, kind: ContainerEvent['kind'], others = 0): Promise<ContainerEvent> {
		return this.#wait(
			`${kind} of ${name}`,
			() => this.record.containers.filter((one) => one.container === name && one.kind === kind)[others],
		);
	}

	/** When the sidecar logged something, the time after so many others. */
	async sidecarLogs(message: string, others = 0): Promise<number> {
		const line = await this.#wait(
			`the sidecar to log "${message}"`,
			() => this.#sidecarLines().filter(({ msg }) => msg === message)[others],
		);
		return Date.parse(line.time);
	}

	/** Waits until the kubelet says so of the pod. */
	async is(what: string, holds: (pod: Pod) => boolean): Promise<void> {
		await this.#wait(what, async () => {
			const pod = await this.pod();
			return pod !== undefined && holds(pod);
		});
	}

	/** The tallies of the app between two moments. */
	tallies(fromMs = 0, toMs: number = Number.POSITIVE_INFINITY): (LookupTally & { readonly atMs: number })[] {
		return this.record.app.filter((line) => line.event === 'tally').filter(({ atMs }) => atMs > fromMs && atMs <= toMs);
	}

	/** Writes down what happened. */
	tell(): PodStory {
		const { containers, app } = this.record;
		for (const { atMs, container, kind, exitCode } of containers) {
			this.note(`${container}: ${kind === 'start' ? 'started' : `ended, exit code ${exitCode}`}`, atMs);
		}
		for (const { atMs, event } of app) {
			if (event !== 'tally' && event !== 'started') this.note(`app: ${APP_EVENTS[event]}`, atMs);
		}
		for (const { time, msg } of this.#sidecarLines()) {
			const what = SIDECAR_EVENTS[msg];
			if (what !== undefined) this.note(`sidecar: ${what}`, Date.parse(time));
		}
		const tallies = this.tallies();
		const story = {
			title: this.#options.title,
			events: this.#events
				.toSorted((one, two) => one.atMs - two.atMs)
				.map(({ atMs, what }) => ({ afterMs: atMs - this.#placedAtMs, what })),
			lookups: tallies.reduce((sum, { lookups }) => sum + lookups, 0),
			calls: tallies.reduce((sum, { calls }) => sum + calls, 0),
			failed: app.filter(({ event }) => event === 'failed').length,
			longestAgeMs: Math.max(0, ...tallies.map(({ ageMsMax }) => ageMsMax)),
		};
		reportStory(story);
		return story;
	}

	/** The sidecar's own, without what others may say in its container: Node, or the runtime when it cannot start it. */
	#sidecarLines(): { readonly time: string; readonly msg: string }[] {
		return this.record.sidecar
			.filter((line) => line.startsWith('{'))
			.map((line) => JSON.parse(line) as { readonly time: string; readonly msg: string });
	}

	/** With what the kubelet knows of the pod where it is in vain. */
	async #wait<T>(what: string, probe: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
		try {
			return await waitFor(what, probe, WAIT_MS);
		} catch (error) {
			const { containers, sidecar } = this.record;
			const app = this.record.app.filter(({ event }) => event !== 'tally');
			const { status } = (await this.pod()) ?? {};
			const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
			const known = JSON.stringify({ phase: status?.phase, statuses, containers, app, sidecar }, null, 1);
			throw new Error(`${(error as Error).message}; of the pod is known: ${known}`, { cause: error });
		}
	}
}

const APP_EVENTS: Readonly<Record<LookupAppLine['event'], string>> = {
	started: 'started',
	connected: 'connected to the sidecar',
	registered: 'registered',
	'first lookup': 'first lookup answered',
	SIGTERM: 'gets SIGTERM',
	lost: 'has lost the sidecar',
	back: 'has the sidecar back',
	failed: 'A LOOKUP FAILED',
	tally: '',
	left: 'has done its last lookup, and leaves',
};

const SIDECAR_EVENTS: Readonly<Record<string, string>> = {
	serving: 'listens',
	'signal received; shutting down': 'gets SIGTERM',
	stopping: 'stops',
};
