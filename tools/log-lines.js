// Every line that the sidecar may log, read from its source by TypeScript's parser: level and text, `…` for what differs.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import ts from 'typescript';

import { root } from './prepare.js';

const SOURCES = join(root, 'packages/sidecar/src');
const ANYTHING = '…';
/** From the one that tells most. */
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];

/** The levels of each line. */
export function logLines() {
	const levelsByLine = new Map();
	for (const name of readdirSync(SOURCES, { recursive: true })) {
		if (!name.endsWith('.ts') || name.endsWith('test.ts')) continue;
		const text = readFileSync(join(SOURCES, name), 'utf8');
		const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
		visit(file, (node) => {
			const call = ts.isCallExpression(node) ? logCall(node) : undefined;
			for (const line of call === undefined ? [] : textsOf(call.message, file)) {
				const levels = levelsByLine.get(line) ?? new Set();
				for (const level of call.levels(file)) levels.add(level);
				levelsByLine.set(line, levels);
			}
		});
	}
	return new Map([...levelsByLine].map(([line, levels]) => [line, LEVELS.filter((level) => levels.has(level))]));
}

function visit(node, see) {
	see(node);
	ts.forEachChild(node, (child) => visit(child, see));
}

/** `log.warn(…)` or `log[level](…)`; undefined for any other call. */
function logCall({ expression, arguments: given }) {
	const message = given.at(-1);
	if (message === undefined || expression.expression?.getText() !== 'log') return undefined;
	if (ts.isPropertyAccessExpression(expression)) {
		const level = expression.name.text;
		return LEVELS.includes(level) ? { message, levels: () => [level] } : undefined;
	}
	if (ts.isElementAccessExpression(expression)) {
		return { message, levels: (file) => textsOf(expression.argumentExpression, file) };
	}
	return undefined;
}

/** Every text that an expression may be. */
function textsOf(node, file) {
	if (ts.isStringLiteralLike(node)) return [node.text];
	if (ts.isTemplateExpression(node)) {
		return [node.head.text + node.templateSpans.map(({ literal }) => ANYTHING + literal.text).join('')];
	}
	if (ts.isConditionalExpression(node)) return [...textsOf(node.whenTrue, file), ...textsOf(node.whenFalse, file)];
	if (ts.isParenthesizedExpression(node)) return textsOf(node.expression, file);
	if (ts.isBinaryExpression(node)) return textsOf(node.left, file);
	if (ts.isElementAccessExpression(node)) return valuesOf(declared(node.expression, file), file);
	const value = ts.isIdentifier(node) ? declared(node, file) : undefined;
	return value === undefined ? [ANYTHING] : textsOf(value, file);
}

function valuesOf(node, file) {
	if (node === undefined || !ts.isObjectLiteralExpression(node)) return [ANYTHING];
	return node.properties.flatMap(({ initializer }) => textsOf(initializer, file));
}

/** What the name stands for: the constant of the nearest scope, as far as it has a value. */
function declared(name, file) {
	for (let scope = name.parent; scope !== undefined; scope = scope.parent) {
		if (!ts.isBlock(scope) && !ts.isCaseBlock(scope) && scope !== file) continue;
		let found;
		const see = (node) => {
			if (ts.isVariableDeclaration(node) && node.name.getText(file) === name.getText(file)) found ??= node;
		};
		visit(scope, see);
		if (found !== undefined) return found.initializer;
	}
	return undefined;
}
