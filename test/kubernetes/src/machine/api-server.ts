import { execFile } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type RunningProcess, spawnProcess, waitFor } from '@spock/testkit';

import { type KubernetesTools, kubernetesTools } from '../kubernetes-tools.ts';

const DIRECTORY = '/run/api-server';
const ETCD = 'http://127.0.0.1:2379';
const PORT = 6443;

/** What a run of kubectl has said. */
export interface KubectlResult {
	readonly exitCode: number;
	readonly stdout: string;
	readonly stderr: string;
}

/** An API server with its etcd, on the machine of tools/kubelet/machine.sh. Both end with the machine. */
export class ApiServer {
	readonly #tools: KubernetesTools;
	readonly #token = randomBytes(16).toString('hex');
	readonly #processes: RunningProcess[] = [];

	private constructor(tools: KubernetesTools) {
		this.#tools = tools;
	}

	/** Starts both; resolves when it is ready. Throws outside of such a machine. */
	static async start(env: Readonly<Record<string, string | undefined>>): Promise<ApiServer> {
		if (!env['SPOCK_MACHINE_ADDRESS'])
			throw new Error('run this by `npm run suite apiserver`: it needs a machine of its own');
		const server = new ApiServer(kubernetesTools(env));
		await server.#start();
		await waitFor('the API server', () => server.#isReady(), 60_000);
		return server;
	}

	/** Runs kubectl with all rights. Rejects only when it cannot be run. */
	kubectl(args: readonly string[], input = ''): Promise<KubectlResult> {
		const access = [
			`--server=https://127.0.0.1:${PORT}`,
			`--certificate-authority=${join(DIRECTORY, 'apiserver.crt')}`,
			`--token=${this.#token}`,
		];
		const options = { env: { ...this.#tools.env, HOME: DIRECTORY }, maxBuffer: 2 ** 24 };
		return new Promise((resolve, reject) => {
			const child = execFile(this.#tools.program('kubectl'), [...access, ...args], options, (error, stdout, stderr) => {
				if (error !== null && typeof error.code !== 'number') reject(error);
				else resolve({ exitCode: Number(error?.code ?? 0), stdout, stderr });
			});
			child.stdin?.end(input);
		});
	}

	/** The same; rejects with what it said when it fails or warns, and gives what it printed. */
	async kubectlOk(args: readonly string[], input = ''): Promise<string> {
		const { exitCode, stdout, stderr } = await this.kubectl(args, input);
		if (exitCode !== 0 || stderr.includes('Warning:')) throw new Error(`kubectl ${args.join(' ')}: ${stdout}${stderr}`);
		return stdout;
	}

	async #start(): Promise<void> {
		await mkdir(DIRECTORY, { recursive: true });
		const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
		const keys = join(DIRECTORY, 'service-accounts.pem');
		await writeFile(keys, privateKey.export({ type: 'pkcs8', format: 'pem' }));
		const tokens = join(DIRECTORY, 'tokens.csv');
		await writeFile(tokens, `${this.#token},tests,1,system:masters\n`);
		const { env } = this.#tools;
		this.#processes.push(
			spawnProcess(
				this.#tools.program('etcd'),
				[
					`--data-dir=${join(DIRECTORY, 'etcd')}`,
					`--listen-client-urls=${ETCD}`,
					`--advertise-client-urls=${ETCD}`,
					'--listen-peer-urls=http://127.0.0.1:2380',
					'--log-level=error',
				],
				{ env },
			),
			spawnProcess(
				this.#tools.program('kube-apiserver'),
				[
					`--etcd-servers=${ETCD}`,
					`--cert-dir=${DIRECTORY}`,
					'--bind-address=127.0.0.1',
					`--secure-port=${PORT}`,
					'--service-cluster-ip-range=10.96.0.0/16',
					'--authorization-mode=RBAC',
					`--token-auth-file=${tokens}`,
					'--service-account-issuer=https://kubernetes.default.svc',
					`--service-account-key-file=${keys}`,
					`--service-account-signing-key-file=${keys}`,
					// The injector of k8s/ is a MutatingAdmissionPolicy, which is beta in 1.34 and not on by itself.
					'--feature-gates=MutatingAdmissionPolicy=true',
					'--runtime-config=admissionregistration.k8s.io/v1beta1=true',
				],
				{ env },
			),
		);
	}

	async #isReady(): Promise<boolean> {
		for (const { child, stderr } of this.#processes) {
			if (child.exitCode !== null) throw new Error(`${child.spawnfile} has ended: ${stderr().slice(-4000)}`);
		}
		return (await this.kubectl(['get', '--raw', '/readyz'])).exitCode === 0;
	}
}
