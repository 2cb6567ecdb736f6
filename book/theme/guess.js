'use strict';

// What the reader predicts is typed in, kept in this browser, and once the measurement is unfolded
// answered with how far off it was.
function distance(guess, answer) {
    if (guess === answer) return 'exactly that.';
    if (answer === 0 || guess <= 0) return 'another thing.';
    const times = guess / answer, way = guess > answer ? 'too many' : 'too few';
    const percent = Math.round(Math.abs(times - 1) * 100);
    if (percent < 1) return 'that to a hair.';
    if (times > 0.5 && times < 2) return `you were ${percent} % off, ${way}.`;
    const factor = times > 1 ? times : 1 / times;
    return `that is ${factor.toLocaleString('en', {maximumSignificantDigits: 2})} times ${way}.`;
}

function remembered(key) {
    try {
        return localStorage.getItem(key) || '';
    } catch {
        return '';
    }
}

// Chapters may get other numbers, and pages further questions: neither is part of what is kept.
const page = location.pathname.split('/').pop().replace(/^\d+-|\.html$/g, '');

document.querySelectorAll('.guess').forEach(question => {
    const key = `hotpath-guess:${page}:${question.textContent}`;
    const fold = question.closest('.predict').querySelector('details');
    const label = document.createElement('label');
    const box = document.createElement('input');
    const verdict = document.createElement('output');

    function judge() {
        const guess = Number(box.value.replace(/[,\s%×]/g, ''));
        const {shown, answer} = question.dataset;
        verdict.textContent = box.value.trim() === '' || !fold.open ? ''
            : Number.isNaN(guess) ? 'Write a number.'
            : `It is ${shown}: ${distance(guess, Number(answer))}`;
    }

    box.type = 'text';
    box.inputMode = 'decimal';
    box.autocomplete = 'off';
    box.value = remembered(key);
    box.addEventListener('input', () => {
        try {
            localStorage.setItem(key, box.value);
        } catch { /* then it lasts as long as the page */ }
        judge();
    });
    fold.addEventListener('toggle', judge);
    label.append(`${question.textContent} `, box);
    question.replaceChildren(label, ' ', verdict);
    question.hidden = false;
    judge();
});
