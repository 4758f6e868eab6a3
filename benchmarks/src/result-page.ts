import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import type { Command } from 'commander';

import { say } from './run.ts';

/** Options of a command that measures, as {@link ResultPage.measuring} adds them. */
export interface MeasuringOptions {
	/** The Node that the processes run on. */
	readonly node: string;
	/** The result file. */
	readonly out: string;
	/** The directory where the page goes. Default: it is not written. */
	readonly docs?: string;
}

/** A page of docs/ that is made from a result file, and nothing else. */
export class ResultPage<Results> {
	readonly #name: string;
	readonly #markdown: (results: Results) => string;

	/** `name` is its path in docs/. */
	constructor(name: string, markdown: (results: Results) => string) {
		this.#name = name;
		this.#markdown = markdown;
	}

	/** Adds the options of a command that measures. */
	measuring(command: Command): Command {
		return command
			.option('--node <path>', 'the Node that the processes run on', process.execPath)
			.requiredOption('--out <file>', 'the result file')
			.option('--docs <directory>', `also write ${this.#name} there`);
	}

	/** Adds the command that writes the page without measuring. */
	addRender(program: Command): void {
		program
			.command('render')
			.description('write the page from the result file')
			.requiredOption('--out <file>', 'the result file')
			.requiredOption('--docs <directory>', `where ${this.#name} goes`)
			.action(({ out, docs }: { out: string; docs: string }) => this.write(this.read(out), docs));
	}

	/** Results of an earlier run. */
	read(file: string): Results {
		return JSON.parse(readFileSync(file, 'utf8')) as Results;
	}

	/** Prints the page. */
	print(results: Results): void {
		say(this.#markdown(results));
	}

	/** Writes the page below this directory. */
	write(results: Results, docs: string): void {
		const page = join(docs, this.#name);
		mkdirSync(dirname(page), { recursive: true });
		writeFileSync(page, this.#markdown(results));
		say(`wrote ${page}`);
	}
}
