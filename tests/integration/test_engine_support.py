"""The test session's own engine and fault proxy do what the tests that lean on them believe."""

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError

from tests.support.engine import Microburst, dynamodb_client, s3_client

pytestmark = pytest.mark.engine

ITEM = {"pk": {"S": "p"}, "sk": {"S": "s"}}
ONCE = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=30)


def test_a_new_table_is_empty_and_keeps_what_is_put(engine: str, engine_table: str) -> None:
    client = dynamodb_client(engine)
    assert client.scan(TableName=engine_table)["Items"] == []
    client.put_item(TableName=engine_table, Item=ITEM)
    assert client.get_item(TableName=engine_table, Key=ITEM)["Item"] == ITEM


def test_a_new_bucket_keeps_what_is_put(engine: str, engine_bucket: str) -> None:
    client = s3_client(engine)
    client.put_object(Bucket=engine_bucket, Key="a/b", Body=b"x")
    assert client.get_object(Bucket=engine_bucket, Key="a/b")["Body"].read() == b"x"


def test_a_throttled_call_does_not_reach_the_engine(engine: str, engine_table: str, microburst: Microburst) -> None:
    microburst.throttle("PutItem")
    client = dynamodb_client(microburst.url, ONCE)
    with pytest.raises(ClientError, match="ProvisionedThroughputExceededException"):
        client.put_item(TableName=engine_table, Item=ITEM)
    assert dynamodb_client(engine).scan(TableName=engine_table)["Items"] == []
    client.put_item(TableName=engine_table, Item=ITEM)
    assert len(microburst.fired()) == 1


def test_a_lost_answer_comes_after_the_work_was_done(engine: str, engine_table: str, microburst: Microburst) -> None:
    microburst.lose_answer("PutItem")
    with pytest.raises(ConnectionClosedError):
        dynamodb_client(microburst.url, ONCE).put_item(TableName=engine_table, Item=ITEM)
    assert dynamodb_client(engine).scan(TableName=engine_table)["Items"] == [ITEM]


def test_a_failed_call_does_not_reach_the_engine(engine: str, engine_table: str, microburst: Microburst) -> None:
    microburst.fail("PutItem")
    with pytest.raises(ClientError, match="InternalServerError"):
        dynamodb_client(microburst.url, ONCE).put_item(TableName=engine_table, Item=ITEM)
    assert dynamodb_client(engine).scan(TableName=engine_table)["Items"] == []


def test_rules_of_one_test_do_not_reach_the_next(engine_table: str, microburst: Microburst) -> None:
    microburst.throttle("PutItem", times=5)
    microburst.clear()
    dynamodb_client(microburst.url, ONCE).put_item(TableName=engine_table, Item=ITEM)
    assert microburst.fired() == []
