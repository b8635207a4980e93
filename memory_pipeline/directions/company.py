"""What stands beside a sentence: it tells a rule from a request, and a fact from what a product shall do."""

from __future__ import annotations

from functools import cached_property

from memory_pipeline.directions import chinese_plain, english_words
from memory_pipeline.directions.clauses import CJK, requests_work
from memory_pipeline.directions.lazy import Lazy
from memory_pipeline.directions.words import Sentence


class Company:
    """The sentences of a prompt: what stands beside a sentence tells a rule from a request."""

    def __init__(self, all_sentences: tuple[Sentence, ...]) -> None:
        self.sentences = all_sentences

    @cached_property
    def asking(self) -> frozenset[int]:
        """The sentences that ask for work or an answer now."""
        return frozenset(id(each) for each in self.sentences if requests_work(each))

    @cached_property
    def builds(self) -> bool:
        """Whether the prompt opens by describing something to be made."""
        return any(
            (english_words.BUILDS.match(each.masked) or chinese_plain.BUILDS.search(each.masked)) is not None
            for each in self.sentences
        )

    def has_task_beside(self, sentence: Sentence) -> bool:
        """Whether another sentence of the prompt asks for work."""
        return bool(self.asking - {id(sentence)})

    def follows_a_complaint(self, sentence: Sentence) -> bool:
        """Whether the sentence right before finds fault with what was done: then this one says how it should be."""
        index = next(number for number, each in enumerate(self.sentences) if each is sentence)
        return index > 0 and _COMPLAINS.match(self.sentences[index - 1].masked) is not None

    def says_how_to_answer(self, sentence: Sentence) -> bool:
        """Whether a sentence says how the question right before it is to be answered: "opinions only, no code"."""
        if _FORMAT_OF_ANSWER.match(sentence.masked) is None:
            return False
        index = next((number for number, each in enumerate(self.sentences) if each is sentence), 0)
        return index > 0 and self.sentences[index - 1].question

    def specifies(self, sentence: Sentence) -> bool:
        """Whether a sentence goes on with what a thing to be made shall do: "It must return JSON. Always include …"."""
        if CJK.search(sentence.masked):
            return self.builds and chinese_plain.tells_of_product(sentence.masked)
        index = next(number for number, each in enumerate(self.sentences) if each is sentence)
        if index == 0 or not self.builds or _PRODUCT_ACT.match(sentence.masked) is None:
            return False
        before = self.sentences[index - 1].masked
        return _SPEC_SENTENCE.match(before) is not None or english_words.BUILDS.match(before) is not None


_COMPLAINS = Lazy(
    r"(?:no,? |hm+,? |ugh,? |again,? |why did )?you(?:'ve| have|'re| are)? (?:again |just |always "
    r"|keep )?(?:\w+ed|put|made|broke|forgot|left"
    r"|used|wrote|did|got|\w+ing|touch)\b|(?:no,? )?not like (?:that|this)|why did you"
)

_FORMAT_OF_ANSWER = Lazy(
    r"(?!.*\b(?:always|never|ever|every|each|whenever)\b)(?:(?:pls |please )?(?:just(?! so| a heads| fyi)"
    r"|only|short|brief|keep it)\b|\w+ only\b|no \w+$"
    r"|(?:don't|do not) (?:fix|change|touch|code)\b|(?:in )?one (?:line|word|sentence)|no more than"
    r"|nothing else)"
)

_PRODUCT_ACT = Lazy(
    r"(?:it |they )?(?:should |must )?(?:always|never) (?:include|show|return|display|print|output|render"
    r"|validate"
    r"|send|reject|accept|allow|raise|throw|sort|round|block)"
)

_SPEC_SENTENCE = Lazy(
    r"(?:it|they|users?|the \w+|each \w+|every \w+|all \w+) (?:should|must|shall|will|takes?|returns?|has"
    r"|have|is"
    r"|are|can)\b"
)
